/** Counts events without ids: the number of copies that each connection received between two readings. */

import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import type { CountedEvent, EventCounts } from '../../../../protocol/link/time-series.ts';

/** Copies received and messages sent by one connection; created only if the run counts events. */
export class EventCounter {
  readonly #events: readonly CountedEvent[];
  /** Copies by index of the event, followed by messages. */
  readonly #counts: Uint32Array;
  /** Counts at the last reading. */
  #before: Uint32Array | undefined;
  /** Whether the connection was open all the time since the last reading. */
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

  /** Records a drop, in which copies may have been missed. */
  interrupt(): void {
    this.#isWhole = false;
  }

  /** Returns the counts since the last reading. */
  take(): { counts: number[]; isWhole: boolean } {
    const [before, isWhole] = [this.#before, this.#isWhole];
    this.#before = this.#counts.slice();
    this.#isWhole = true;
    return { counts: Array.from(this.#counts, (count, index) => count - (before?.[index] ?? 0)), isWhole };
  }
}

/** @param counters counters of the open connections @returns how many connections received and sent how many of each event */
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
