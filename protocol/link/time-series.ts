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

/** An event whose copies are counted, and what its copies are compared with. */
export interface CountedEvent {
  event: string;
  /** Event of the connections from which the server makes it. */
  from?: string | undefined;
  /** The server's counter of such messages. */
  counter?: string | undefined;
}

/** Copies of events without ids, between two readings. */
export const eventCountsSchema = z.object({
  event: name,
  /** Messages of the open connections, from which the server makes the copies. */
  sent: count,
  /** Copies and messages of a connection, and the number of such connections. */
  byCount: list(z.tuple([count, count, count])),
});
export type EventCounts = z.infer<typeof eventCountsSchema>;
