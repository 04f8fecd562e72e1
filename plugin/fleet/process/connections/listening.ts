/** Events that the engine has asked to receive from a connection. Holds received events until the engine takes them. */
import { ANY_EVENT, type ListenMode } from '../../fleet-messages.ts';

/**
 * Largest number of held events with the same name. Newer events replace older events, so that held events cannot fill
 * the memory.
 */
const CAPACITY = 16;

interface Box {
  readonly events: unknown[][];
  displaced: number;
}

const NOTHING: Readonly<Box> = { events: [], displaced: 0 };

export class EventListening {
  /** Held events by namespace and event name, or the mode for events that are passed on. */
  readonly #boxes = new Map<string, Box | 'take' | 'each'>();

  /**
   * Sets how events of a name are handled.
   * @returns the events that are no longer held, oldest first, and the number of older events that were discarded
   */
  set(namespace: string, event: string, mode: ListenMode): Readonly<Box> {
    const key = `${namespace} ${event}`;
    const former = this.#boxes.get(key);
    const box = typeof former === 'object' ? former : undefined;
    if (mode === 'drop') this.#boxes.delete(key);
    else this.#boxes.set(key, mode === 'hold' ? (box ?? { events: [], displaced: 0 }) : mode);
    return mode === 'hold' ? NOTHING : (box ?? NOTHING);
  }

  /**
   * Handles a received event.
   * @returns the mode for events of this name; with `hold`, the event has been stored
   */
  put(namespace: string, event: string, args: unknown[]): ListenMode {
    if (this.#boxes.has(`${namespace} ${ANY_EVENT}`)) return 'take';
    const key = `${namespace} ${event}`;
    const box = this.#boxes.get(key);
    if (typeof box !== 'object') return box ?? 'drop';
    if (box.events.push(args) > CAPACITY) {
      box.events.shift();
      box.displaced++;
    }
    return 'hold';
  }

  /** Names of the requested events in any namespace; undefined if there are none. */
  get names(): Set<string> | undefined {
    if (this.#boxes.size === 0) return undefined;
    return new Set([...this.#boxes.keys()].map((key) => key.slice(key.indexOf(' ') + 1)));
  }

  /** Number of held events that were discarded because newer events arrived. */
  get displaced(): number {
    return [...this.#boxes.values()].reduce((sum, box) => sum + (typeof box === 'object' ? box.displaced : 0), 0);
  }
}
