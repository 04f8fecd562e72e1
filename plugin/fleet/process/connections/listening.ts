/** Events of a connection that the engine wants, and events held until the engine takes them. */
import { ANY, type ListenMode } from '../../fleet-messages.ts';

/** Largest number of held events. Newer events displace older ones, so neither a flow that never waits nor a flood fills the memory. */
const CAPACITY = 16;

interface Box {
  readonly events: unknown[][];
  displaced: number;
}

const NOTHING: Readonly<Box> = { events: [], displaced: 0 };

export class Listening {
  /** Held events by namespace and event, or the mode in which they are passed on. */
  readonly #boxes = new Map<string, Box | 'take' | 'each'>();

  /** Returns the events that were held and are now released, oldest first, and the number displaced before them. */
  set(namespace: string, event: string, mode: ListenMode): Readonly<Box> {
    const key = `${namespace} ${event}`;
    const former = this.#boxes.get(key);
    const box = typeof former === 'object' ? former : undefined;
    if (mode === 'drop') this.#boxes.delete(key);
    else this.#boxes.set(key, mode === 'hold' ? (box ?? { events: [], displaced: 0 }) : mode);
    return mode === 'hold' ? NOTHING : (box ?? NOTHING);
  }

  /** Returns how the event is handled; a held event is in its box now. */
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

  /** Names of all wanted events, in any namespace. */
  get names(): Set<string> | undefined {
    if (this.#boxes.size === 0) return undefined;
    return new Set([...this.#boxes.keys()].map((key) => key.slice(key.indexOf(' ') + 1)));
  }

  /** Number of events that were displaced before they were taken. */
  get displaced(): number {
    return [...this.#boxes.values()].reduce((sum, box) => sum + (typeof box === 'object' ? box.displaced : 0), 0);
  }
}
