/** Counts over time. */
import type { InstantUs } from '../clock/instants.ts';

/** Events per interval. */
export interface TimeSeries {
  startedAtUs: InstantUs;
  intervalUs: number;
  counts: number[];
}

/** How connecting went, by intervals that start together. */
export interface ConnectingOverTime {
  /** First connections. */
  opened: TimeSeries;
  /** Sum of their connect times, and the longest. */
  connectUs: TimeSeries;
  slowestUs: TimeSeries;
  /** Attempts. */
  failed: TimeSeries;
  /** Connections, other than by their virtual users. */
  ended: TimeSeries;
}
