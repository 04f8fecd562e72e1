/** Counts over time, and between two readings. */
import { z } from 'zod';
import { count, instant, list, name } from './bounded-schemas.ts';

/** Events per interval. */
export const timeSeriesSchema = z.object({
  startedAtUs: instant,
  intervalUs: z.number().positive(),
  counts: list(count),
});
export type TimeSeries = z.infer<typeof timeSeriesSchema>;

/** Connection events over time, all on the same intervals. */
export const connectingOverTimeSchema = z.object({
  /** First connections. */
  opened: timeSeriesSchema,
  /** Sum and maximum of their connect times. */
  connectUs: timeSeriesSchema,
  slowestUs: timeSeriesSchema,
  /** Failed attempts. */
  failed: timeSeriesSchema,
  /** Connections that ended without being closed by their virtual users. */
  ended: timeSeriesSchema,
});
export type ConnectingOverTime = z.infer<typeof connectingOverTimeSchema>;

/** Copies of events without ids, between two readings. */
export const eventCountsSchema = z.object({
  event: name,
  /** Copies, and the number of connections that got so many. */
  byCount: list(z.tuple([count, count])),
});
export type EventCounts = z.infer<typeof eventCountsSchema>;
