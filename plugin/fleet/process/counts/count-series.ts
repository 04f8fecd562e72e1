/**
 * Counts events per time interval, such as opened connections. The achieved rate of connections is computed from it. In
 * a long run the intervals become longer, so that their number stays limited.
 */
import type { TimeSeries } from '../../../../protocol/link/time-series.ts';

interface SeriesOptions {
  intervalUs: number;
  maxIntervals: number;
  /** Combines the values of two intervals that are merged, or adds a value to an interval. */
  combine(a: number, b: number): number;
}

/** Default time series: intervals of 10 ms. 65,536 intervals cover 11 minutes; then the intervals become longer. */
const COUNTS: SeriesOptions = { intervalUs: 10_000, maxIntervals: 2 ** 16, combine: (a, b) => a + b };

export class CountSeries {
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
