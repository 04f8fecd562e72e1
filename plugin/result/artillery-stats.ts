/** Artillery's own figures, and what its plugin `ensure` makes of them (2.0.34). */

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
  /** The expression; its result is 1 if it holds. */
  original: string;
  result: unknown;
  strict: boolean;
  /** The expression, with a quoted hash in place of each metric that the run has; some kinds of thresholds have none. */
  hashed?: string;
}
