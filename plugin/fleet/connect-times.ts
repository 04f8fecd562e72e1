/** How long connecting took, in all and stage by stage. */
import { createHistogram, encodeHistogram, recordUs } from '../../protocol/histogram.ts';
import { CONNECT_STAGES, type ConnectStage } from '../../protocol/link.ts';
import type { ConnectTimings } from './client.ts';

export class ConnectTimes {
  readonly #histograms = Object.fromEntries(CONNECT_STAGES.map((stage) => [stage, createHistogram()])) as Record<
    ConnectStage,
    ReturnType<typeof createHistogram>
  >;

  /**
   * @param timings ends of the stages of the attempt that succeeded
   * @param totalUs from the start of the first attempt
   */
  record(timings: ConnectTimings, totalUs: number): void {
    recordUs(this.#histograms.total, totalUs);
    let previousUs = 0;
    for (const stage of ['tcp', 'upgrade', 'open', 'namespace'] as const) {
      const endUs = timings[`${stage}Us`];
      if (endUs === undefined) continue;
      recordUs(this.#histograms[stage], endUs - previousUs);
      previousUs = endUs;
    }
  }

  snapshot(): Record<ConnectStage, string> {
    return Object.fromEntries(
      CONNECT_STAGES.map((stage) => [stage, encodeHistogram(this.#histograms[stage])]),
    ) as Record<ConnectStage, string>;
  }
}
