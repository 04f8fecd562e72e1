/** How long connecting took, in total and by stage. */

import { CONNECT_STAGES, type ConnectStage } from '../../../../protocol/connection.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/histogram.ts';
import type { ConnectTimings } from '../../client/client.ts';

/** Times are recorded in batches: between two connections the CPU cache loses the code of the histogram. */
const BATCH_SIZE = 256;

export class ConnectTimes {
  readonly #histograms = Object.fromEntries(CONNECT_STAGES.map((stage) => [stage, createHistogram()])) as Record<
    ConnectStage,
    ReturnType<typeof createHistogram>
  >;
  /** Not in the histograms yet. */
  #times: (ConnectTimings & { totalUs: number })[] = [];

  /**
   * @param timings ends of the stages of the attempt that succeeded
   * @param totalUs from the start of the first attempt
   */
  record(timings: ConnectTimings, totalUs: number): void {
    this.#times.push({ ...timings, totalUs });
    if (this.#times.length === BATCH_SIZE) this.#flush();
  }

  recordUpgrade(tookUs: number): void {
    recordUs(this.#histograms.change, tookUs);
  }

  #flush(): void {
    for (const times of this.#times) {
      recordUs(this.#histograms.total, times.totalUs);
      let previousUs = 0;
      for (const stage of ['tcp', 'tls', 'upgrade', 'open', 'namespace'] as const) {
        const endUs = times[`${stage}Us`];
        if (endUs === undefined) continue;
        recordUs(this.#histograms[stage], endUs - previousUs);
        previousUs = endUs;
      }
    }
    this.#times = [];
  }

  snapshot(): Record<ConnectStage, string> {
    this.#flush();
    return Object.fromEntries(
      CONNECT_STAGES.map((stage) => [stage, encodeHistogram(this.#histograms[stage])]),
    ) as Record<ConnectStage, string>;
  }
}
