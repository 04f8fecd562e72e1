/** Records connect times, in total and by stage, and the numbers of opened, failed and ended connections over time. */
import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { createHistogram, encodeHistogram, type Histogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { FleetSnapshot } from '../../../../protocol/link/snapshot.ts';
import { CONNECT_STAGES, type ConnectStage } from '../../../../protocol/wire/connection.ts';
import type { ConnectTimings } from '../../client/client.ts';
import { CountSeries } from './count-series.ts';

/** Limits each time series of a result to 200 rows. In a long run, a row covers several seconds. */
const ROWS = { intervalUs: 1_000_000, maxIntervals: 200 };

export class ConnectingCounts {
  /** Number of openings of all connections, including reconnects. */
  openings = 0;
  failedAttempts = 0;
  #tlsResumed = 0;
  readonly #histograms = ofEachStage(() => createHistogram());
  readonly #openings: CountSeries;
  /**
   * Time series by kind. `failed` counts attempts. `ended` does not count connections that their virtual users closed.
   */
  readonly overTime: Record<keyof FleetSnapshot['connecting'], CountSeries>;

  constructor(startedAtUs: number) {
    const rows = (combine?: { combine: typeof Math.max }) => new CountSeries(startedAtUs, { ...ROWS, ...combine });
    this.#openings = new CountSeries(startedAtUs);
    this.overTime = {
      ...{ opened: rows(), connectUs: rows(), slowestUs: rows({ combine: Math.max }) },
      ...{ failed: rows(), ended: rows() },
    };
  }

  /**
   * Records an opened connection.
   * @param timings end of each stage of the successful attempt
   * @param tookUs microseconds since the start of the first attempt
   */
  opened(timings: ConnectTimings, atUs: number, tookUs: number): void {
    if (timings.tlsResumed) this.#tlsResumed++;
    this.#openings.record(atUs);
    this.overTime.opened.record(atUs);
    this.overTime.connectUs.record(atUs, tookUs);
    this.overTime.slowestUs.record(atUs, tookUs);
    recordUs(this.#histograms.total, tookUs);
    let previousUs = 0;
    for (const stage of ['tcp', 'tls', 'upgrade', 'open', 'namespace'] as const) {
      const endUs = timings[`${stage}Us`];
      if (endUs === undefined) continue;
      recordUs(this.#histograms[stage], endUs - previousUs);
      previousUs = endUs;
    }
  }

  failed(): void {
    this.failedAttempts++;
    this.overTime.failed.record(monotonicUs());
  }

  /**
   * Records a completed upgrade from polling to WebSocket.
   * @param tookUs duration of the upgrade in microseconds
   */
  changed(tookUs: number): void {
    recordUs(this.#histograms.change, tookUs);
  }

  snapshot(): Pick<FleetSnapshot, 'connectUs' | 'tlsResumed' | 'openings' | 'connecting'> {
    const connecting = Object.entries(this.overTime).map(([what, series]) => [what, series.snapshot()]);
    return {
      connectUs: ofEachStage((stage) => encodeHistogram(this.#histograms[stage] as Histogram)),
      tlsResumed: this.#tlsResumed,
      openings: this.#openings.snapshot(),
      connecting: Object.fromEntries(connecting) as FleetSnapshot['connecting'],
    };
  }
}

function ofEachStage<T>(value: (stage: ConnectStage) => T): Record<ConnectStage, T> {
  return Object.fromEntries(CONNECT_STAGES.map((stage) => [stage, value(stage)])) as Record<ConnectStage, T>;
}
