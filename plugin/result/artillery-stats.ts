/** Types of Artillery's metrics, and of the thresholds that its plugin `ensure` (2.0.34) evaluates. */

/** Metrics of a period or of the whole run. Added metrics appear on Artillery's console and in its report. */
export interface ArtilleryStats {
  counters: Record<string, number>;
  rates: Record<string, number>;
  summaries: Record<string, Record<string, number>>;
  /** Encoded distribution (DDSketch) of each summary. */
  histograms?: Record<string, { toProto(): Uint8Array }>;
}

/** Evaluation of one threshold or condition by the plugin `ensure`. */
export interface EnsureCheck {
  /** Expression whose value is 1 if the threshold is met. */
  original: string;
  result: unknown;
  strict: boolean;
  /** The expression, with a quoted hash in place of each metric's name; missing for some kinds of thresholds. */
  hashed?: string;
}
