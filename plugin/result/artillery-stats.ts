/** Artillery's own figures, and the evaluations of its plugin `ensure` (2.0.34). */

/** Metrics of a period or of the whole run; additions appear on Artillery's console and in its report. */
export interface ArtilleryStats {
  counters: Record<string, number>;
  rates: Record<string, number>;
  summaries: Record<string, Record<string, number>>;
  /** DDSketch of each summary. */
  histograms?: Record<string, { toProto(): Uint8Array }>;
}

/** How the plugin `ensure` evaluated one threshold or condition. */
export interface Check {
  /** Expression whose result is 1 if it holds. */
  original: string;
  result: unknown;
  strict: boolean;
  /** The expression with a quoted hash in place of each metric of the run; missing for some kinds of thresholds. */
  hashed?: string;
}
