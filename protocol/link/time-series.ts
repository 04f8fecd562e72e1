/** Counts over time. */
import { z } from 'zod';
import { count, instant, list } from './bounded-schemas.ts';

/** Events per interval. */
export const timeSeriesSchema = z.object({
  startedAtUs: instant,
  intervalUs: z.number().positive(),
  counts: list(count),
});
export type TimeSeries = z.infer<typeof timeSeriesSchema>;

/** How connecting went, by intervals that start together. */
export const connectingOverTimeSchema = z.object({
  /** First connections. */
  opened: timeSeriesSchema,
  /** Sum of their connect times, and the longest. */
  connectUs: timeSeriesSchema,
  slowestUs: timeSeriesSchema,
  /** Attempts. */
  failed: timeSeriesSchema,
  /** Connections, other than by their virtual users. */
  ended: timeSeriesSchema,
});
export type ConnectingOverTime = z.infer<typeof connectingOverTimeSchema>;
