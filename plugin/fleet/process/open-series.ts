/**
 * Connections opened per time interval: the source of the achieved rate, exact to one interval. In a long run the intervals
 * become longer, so that their number stays limited.
 */

import type { FleetSnapshot } from '../../../protocol/link.ts';

/** 11 minutes at first. */
const MAX_INTERVALS = 2 ** 16;

export class OpenSeries {
  readonly startedAtUs: number;
  #intervalUs = 10_000;
  #counts: number[] = [];

  constructor(startedAtUs: number) {
    this.startedAtUs = startedAtUs;
  }

  record(atUs: number): void {
    const sinceUs = Math.max(0, atUs - this.startedAtUs);
    while (sinceUs >= this.#intervalUs * MAX_INTERVALS) this.#widen();
    const interval = Math.floor(sinceUs / this.#intervalUs);
    while (this.#counts.length <= interval) this.#counts.push(0);
    this.#counts[interval] = (this.#counts[interval] ?? 0) + 1;
  }

  snapshot(): FleetSnapshot['openings'] {
    return { startedAtUs: this.startedAtUs, intervalUs: this.#intervalUs, counts: [...this.#counts] };
  }

  #widen(): void {
    this.#intervalUs *= 2;
    this.#counts = Array.from(
      { length: Math.ceil(this.#counts.length / 2) },
      (_, index) => (this.#counts[2 * index] ?? 0) + (this.#counts[2 * index + 1] ?? 0),
    );
  }
}
