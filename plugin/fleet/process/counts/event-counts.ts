/** Counts events without ids: how many copies each connection got between two readings. */

import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import type { EventCounts } from '../../../../protocol/link/time-series.ts';

/** Copies that one connection got, by event; created only if the run counts events. */
export class EventCounter {
  readonly #names: readonly string[];
  readonly #counts: Uint32Array;
  /** Counts at the last reading; undefined if the connection was not open for all of the time since then. */
  #before: Uint32Array | undefined;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#counts = new Uint32Array(names.length);
  }

  count(name: string): void {
    const index = this.#names.indexOf(name);
    if (index >= 0) this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /** The connection dropped: it may have missed copies. */
  interrupt(): void {
    this.#before = undefined;
  }

  /** @returns copies since the last reading, by index of the event; undefined without a whole interval */
  take(): number[] | undefined {
    const before = this.#before;
    this.#before = this.#counts.slice();
    return before && Array.from(this.#counts, (count, index) => count - (before[index] ?? 0));
  }
}

/** @param counters of the open connections @returns how many connections got how many copies of each event */
export function readEventCounts(names: readonly string[], counters: Iterable<EventCounter>): EventCounts[] {
  const byCount = names.map(() => new Map<number, number>());
  for (const counter of counters) {
    for (const [index, copies] of (counter.take() ?? []).entries()) {
      const counts = byCount[index] as Map<number, number>;
      counts.set(copies, getOrAdd(counts, copies, () => 0) + 1);
    }
  }
  return names.map((event, index) => ({ event, byCount: [...(byCount[index] as Map<number, number>)] }));
}
