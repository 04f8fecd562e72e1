/** Counts events without ids: how many copies each connection got between two readings. */

import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import type { CountedEvent, EventCounts } from '../../../../protocol/link/time-series.ts';

/** Copies that one connection got, and messages that it sent; created only if the run counts events. */
export class EventCounter {
  readonly #events: readonly CountedEvent[];
  /** Copies by index of the event, then messages. */
  readonly #counts: Uint32Array;
  /** Counts at the last reading. */
  #before: Uint32Array | undefined;
  /** Whether the connection was open all the time since then. */
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

  /** The connection dropped: it may have missed copies. */
  interrupt(): void {
    this.#isWhole = false;
  }

  /** Reads the counts since the last reading. */
  take(): { counts: number[]; isWhole: boolean } {
    const [before, isWhole] = [this.#before, this.#isWhole];
    this.#before = this.#counts.slice();
    this.#isWhole = true;
    return { counts: Array.from(this.#counts, (count, index) => count - (before?.[index] ?? 0)), isWhole };
  }
}

/** @param counters of the open connections @returns how many connections got and sent how many of each event */
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
