/** Events of one connection that a later step will wait for: they stay in this process until that step begins. */

/** Newer events displace older ones: neither a flow that never waits nor a flood may fill the memory. */
const CAPACITY = 16;

interface Box {
  events: unknown[][];
  displaced: number;
}

export type EventName = readonly [namespace: string, event: string];

export class KeptEvents {
  readonly #boxes = new Map<string, Box>();

  /** Keeps events of this name from now on. */
  hold(name: EventName): void {
    const key = name.join(' ');
    if (!this.#boxes.has(key)) this.#boxes.set(key, { events: [], displaced: 0 });
  }

  /** @returns false if nobody wants events of this name to be kept */
  put(namespace: string, event: string, args: unknown[]): boolean {
    const box = this.#boxes.get(`${namespace} ${event}`);
    if (box === undefined) return false;
    if (box.events.push(args) > CAPACITY) {
      box.events.shift();
      box.displaced++;
    }
    return true;
  }

  /** Keeps no events of this name any more. @returns what was kept, oldest first, and how many more there were before */
  take(name: EventName): Box {
    const key = name.join(' ');
    const box = this.#boxes.get(key);
    this.#boxes.delete(key);
    return box ?? { events: [], displaced: 0 };
  }

  /** Events that were displaced, of all names that are still kept. */
  get displaced(): number {
    return [...this.#boxes.values()].reduce((sum, box) => sum + box.displaced, 0);
  }
}
