/** Types of Artillery's metrics, and of the thresholds that its plugin `ensure` (2.0.34) evaluates. */

/**
 * Metrics of a period or of the whole run. Metrics that a plugin adds appear on Artillery's console and in its report.
 */
export interface ArtilleryStats {
  counters: Record<string, number>;
  rates: Record<string, number>;
  summaries: Record<string, Record<string, number>>;
  /** Encoded distribution (DDSketch) of each summary metric, by name. */
  histograms?: Record<string, { toProto(): Uint8Array }>;
}

/** Result of one threshold or condition that the plugin `ensure` has evaluated. */
export interface EnsureCheck {
  /** Expression whose value is 1 if the threshold is met. */
  original: string;
  result: unknown;
  strict: boolean;
  /** The expression, in which a quoted hash replaces the name of each metric; missing for some kinds of thresholds. */
  hashed?: string;
}
