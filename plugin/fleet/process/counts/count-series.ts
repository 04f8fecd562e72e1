/**
 * Events per time interval, such as connections opened; the source of the achieved rate, exact to one interval. In a long
 * run the intervals grow, so their number stays limited.
 */
import type { TimeSeries } from '../../../../protocol/link/time-series.ts';

interface SeriesOptions {
  intervalUs: number;
  maxIntervals: number;
  /** Combines two values of one interval. */
  combine(a: number, b: number): number;
}

/** Limits of a count series; 65,536 intervals of 10 ms cover 11 minutes before they grow. */
const COUNTS: SeriesOptions = { intervalUs: 10_000, maxIntervals: 2 ** 16, combine: (a, b) => a + b };

export class Series {
  readonly startedAtUs: number;
  readonly #options: SeriesOptions;
  #intervalUs: number;
  #counts: number[] = [];

  constructor(startedAtUs: number, options: Partial<SeriesOptions> = {}) {
    this.startedAtUs = startedAtUs;
    this.#options = { ...COUNTS, ...options };
    this.#intervalUs = this.#options.intervalUs;
  }

  record(atUs: number, value = 1): void {
    const sinceUs = Math.max(0, atUs - this.startedAtUs);
    while (sinceUs >= this.#intervalUs * this.#options.maxIntervals) this.#widen();
    const interval = Math.floor(sinceUs / this.#intervalUs);
    while (this.#counts.length <= interval) this.#counts.push(0);
    this.#counts[interval] = this.#options.combine(this.#counts[interval] ?? 0, value);
  }

  snapshot(): TimeSeries {
    return { startedAtUs: this.startedAtUs, intervalUs: this.#intervalUs, counts: [...this.#counts] };
  }

  #widen(): void {
    this.#intervalUs *= 2;
    this.#counts = Array.from({ length: Math.ceil(this.#counts.length / 2) }, (_, index) =>
      this.#options.combine(this.#counts[2 * index] ?? 0, this.#counts[2 * index + 1] ?? 0),
    );
  }
}
