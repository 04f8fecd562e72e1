/**
 * Counts events without ids: the number of copies that each connection received between two readings of its counter.
 */

import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import type { CountedEvent, EventCounts } from '../../../../protocol/link/time-series.ts';

/** Counter of one connection: received copies and sent messages. Created only if the run counts events. */
export class EventCounter {
  readonly #events: readonly CountedEvent[];
  /** Number of received copies by index of the event, followed by the number of sent messages by index of the event. */
  readonly #counts: Uint32Array;
  /** Values of `#counts` at the previous reading; undefined before the first reading. */
  #before: Uint32Array | undefined;
  /** Whether the connection has been open without interruption since the previous reading of its counter. */
  #isWhole = false;

  constructor(events: readonly CountedEvent[]) {
    this.#events = events;
    this.#counts = new Uint32Array(2 * events.length);
  }

  count(name: string): void {
    for (const [index, { event }] of this.#events.entries()) if (event === name) this.#add(index);
  }

  sent(name: string): void {
    for (const [index, { from }] of this.#events.entries()) if (from === name) this.#add(index + this.#events.length);
  }

  #add(index: number): void {
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /** Records that the connection dropped, so it may have missed copies. */
  interrupt(): void {
    this.#isWhole = false;
  }

  /** Returns the numbers of received copies and sent messages since the previous call. */
  take(): { counts: number[]; isWhole: boolean } {
    const [before, isWhole] = [this.#before, this.#isWhole];
    this.#before = this.#counts.slice();
    this.#isWhole = true;
    return { counts: Array.from(this.#counts, (count, index) => count - (before?.[index] ?? 0)), isWhole };
  }
}

/**
 * Reads the event counters of all connections.
 * @param counters counters of the open connections
 * @returns for each event, the number of connections by received copies and sent messages
 */
export function readEventCounts(events: readonly CountedEvent[], counters: Iterable<EventCounter>): EventCounts[] {
  const taken = [...counters].map((counter) => counter.take());
  return events.map(({ event }, index) => {
    const byCount = new Map<string, { copies: number; sent: number; of: number }>();
    let allSent = 0;
    for (const { counts, isWhole } of taken) {
      const [copies = 0, sent = 0] = [counts[index], counts[index + events.length]];
      allSent += sent;
      if (isWhole) getOrAdd(byCount, `${copies} ${sent}`, () => ({ copies, sent, of: 0 })).of++;
    }
    return { event, sent: allSent, byCount: [...byCount.values()].map(({ copies, sent, of }) => [copies, sent, of]) };
  });
}
