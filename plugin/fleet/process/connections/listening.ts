/** Events of a connection that the engine wants, and events held until it takes them. */
import { ANY, type ListenMode } from '../../fleet-messages.ts';

/** Newer events displace older ones: neither a flow that never waits nor a flood may fill the memory. */
const CAPACITY = 16;

interface Box {
  readonly events: unknown[][];
  displaced: number;
}

const NOTHING: Readonly<Box> = { events: [], displaced: 0 };

export class Listening {
  /** Held events by namespace and event, or how they are handed over. */
  readonly #boxes = new Map<string, Box | 'take' | 'each'>();

  /** @returns what was held of the event and is not any more, oldest first, and how many more there were before */
  set(namespace: string, event: string, mode: ListenMode): Readonly<Box> {
    const key = `${namespace} ${event}`;
    const former = this.#boxes.get(key);
    const box = typeof former === 'object' ? former : undefined;
    if (mode === 'drop') this.#boxes.delete(key);
    else this.#boxes.set(key, mode === 'hold' ? (box ?? { events: [], displaced: 0 }) : mode);
    return mode === 'hold' ? NOTHING : (box ?? NOTHING);
  }

  /** @returns what becomes of the event; one that is held is in its box now */
  put(namespace: string, event: string, args: unknown[]): ListenMode {
    if (this.#boxes.has(`${namespace} ${ANY}`)) return 'take';
    const key = `${namespace} ${event}`;
    const box = this.#boxes.get(key);
    if (typeof box !== 'object') return box ?? 'drop';
    if (box.events.push(args) > CAPACITY) {
      box.events.shift();
      box.displaced++;
    }
    return 'hold';
  }

  /** The names of all events, whatever their namespace. */
  get names(): Set<string> | undefined {
    if (this.#boxes.size === 0) return undefined;
    return new Set([...this.#boxes.keys()].map((key) => key.slice(key.indexOf(' ') + 1)));
  }

  /** Events that were displaced and not taken. */
  get displaced(): number {
    return [...this.#boxes.values()].reduce((sum, box) => sum + (typeof box === 'object' ? box.displaced : 0), 0);
  }
}
