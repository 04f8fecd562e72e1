/** Of a connection's events that are kept in its process: how many want each as it comes. */

type EventName = [namespace: string, event: string];

export class Takers {
  readonly #counts = new Map<string, number>();

  add(name: EventName): void {
    this.#counts.set(name.join(' '), 0);
  }

  has(name: EventName): boolean {
    return this.#counts.has(name.join(' '));
  }

  /** @returns whether it was there */
  delete(name: EventName): boolean {
    return this.#counts.delete(name.join(' '));
  }

  /** @returns what the process is to do from now on; undefined if that does not change */
  change(name: EventName, by: 1 | -1): 'take' | 'hold' | undefined {
    const key = name.join(' ');
    const before = this.#counts.get(key);
    if (before === undefined) return undefined;
    this.#counts.set(key, before + by);
    if (before === 0) return 'take';
    return before + by === 0 ? 'hold' : undefined;
  }

  /** @returns events that nobody takes now; undefined if there are none */
  untaken(): EventName[] | undefined {
    const keys = [...this.#counts].flatMap(([key, count]) => (count === 0 ? [key] : []));
    if (keys.length === 0) return undefined;
    // A namespace has no spaces.
    return keys.map((key) => [key.slice(0, key.indexOf(' ')), key.slice(key.indexOf(' ') + 1)]);
  }
}
