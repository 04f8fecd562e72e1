/** How connecting went, second by second. */
import type { ConnectingOverTime } from '../../../../protocol/link/series.ts';
import { OpenSeries } from './open-series.ts';

/** A result has no more rows than this; in a long run, each stands for several seconds. */
const INTERVALS = { intervalUs: 1_000_000, maxIntervals: 200 };

export class ConnectSeries {
  readonly #opened: OpenSeries;
  readonly #connectUs: OpenSeries;
  readonly #slowestUs: OpenSeries;
  readonly #failed: OpenSeries;
  readonly #ended: OpenSeries;

  constructor(startedAtUs: number) {
    const series = () => new OpenSeries(startedAtUs, INTERVALS);
    [this.#opened, this.#connectUs, this.#failed, this.#ended] = [series(), series(), series(), series()];
    this.#slowestUs = new OpenSeries(startedAtUs, { ...INTERVALS, combine: Math.max });
  }

  /** @param tookUs since the connection was asked for */
  opened(atUs: number, tookUs: number): void {
    this.#opened.record(atUs);
    this.#connectUs.record(atUs, tookUs);
    this.#slowestUs.record(atUs, tookUs);
  }

  /** An attempt. */
  failed(atUs: number): void {
    this.#failed.record(atUs);
  }

  /** Other than by its virtual user. */
  ended(atUs: number): void {
    this.#ended.record(atUs);
  }

  snapshot(): ConnectingOverTime {
    return {
      opened: this.#opened.snapshot(),
      connectUs: this.#connectUs.snapshot(),
      slowestUs: this.#slowestUs.snapshot(),
      failed: this.#failed.snapshot(),
      ended: this.#ended.snapshot(),
    };
  }
}
