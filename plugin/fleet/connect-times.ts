/** How long connecting took, in all and stage by stage. */
import { createHistogram, encodeHistogram, recordUs } from '../../protocol/histogram.ts';
import { CONNECT_STAGES, type ConnectStage } from '../../protocol/link.ts';
import type { ConnectTimings } from './client.ts';

/** A histogram's code is long out of the processor's cache when the next connection opens; so times are entered together. */
const ENTERED_TOGETHER = 256;

export class ConnectTimes {
  readonly #histograms = Object.fromEntries(CONNECT_STAGES.map((stage) => [stage, createHistogram()])) as Record<
    ConnectStage,
    ReturnType<typeof createHistogram>
  >;
  /** Yet to be entered. */
  #times: (ConnectTimings & { totalUs: number })[] = [];

  /**
   * @param timings ends of the stages of the attempt that succeeded
   * @param totalUs from the start of the first attempt
   */
  record(timings: ConnectTimings, totalUs: number): void {
    this.#times.push({ ...timings, totalUs });
    if (this.#times.length === ENTERED_TOGETHER) this.#enter();
  }

  #enter(): void {
    for (const times of this.#times) {
      recordUs(this.#histograms.total, times.totalUs);
      let previousUs = 0;
      for (const stage of ['tcp', 'upgrade', 'open', 'namespace'] as const) {
        const endUs = times[`${stage}Us`];
        if (endUs === undefined) continue;
        recordUs(this.#histograms[stage], endUs - previousUs);
        previousUs = endUs;
      }
    }
    this.#times = [];
  }

  snapshot(): Record<ConnectStage, string> {
    this.#enter();
    return Object.fromEntries(
      CONNECT_STAGES.map((stage) => [stage, encodeHistogram(this.#histograms[stage])]),
    ) as Record<ConnectStage, string>;
  }
}
