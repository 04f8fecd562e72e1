/** Time series of counts, and counts between two readings. */
import { z } from 'zod';
import { boundedCount, boundedInstant, boundedList, boundedName } from './bounded-schemas.ts';

/** Number of events in each interval. */
export const timeSeriesSchema = z.object({
  startedAtUs: boundedInstant,
  intervalUs: z.number().positive(),
  counts: boundedList(boundedCount),
});
export type TimeSeries = z.infer<typeof timeSeriesSchema>;

/** Connection events over time. All series have the same intervals. */
export const connectingOverTimeSchema = z.object({
  /** First connections. */
  opened: timeSeriesSchema,
  /** Sum and maximum of the connect times in each interval. */
  connectUs: timeSeriesSchema,
  slowestUs: timeSeriesSchema,
  /** Failed attempts. */
  failed: timeSeriesSchema,
  /** Connections that closed although their virtual user had not closed them. */
  ended: timeSeriesSchema,
});
export type ConnectingOverTime = z.infer<typeof connectingOverTimeSchema>;

/** Event whose copies are counted, and the count to compare them with. */
export interface CountedEvent {
  event: string;
  /** Event of clients that causes the server to send this event. */
  from?: string | undefined;
  /** Name of the server's counter for the clients' event. */
  counter?: string | undefined;
}

/** Copies of events without ids, counted between two readings. */
export const eventCountsSchema = z.object({
  event: boundedName,
  /** Messages of open connections that cause the copies. */
  sent: boundedCount,
  /** Number of copies and of messages per connection, with the number of such connections. */
  byCount: boundedList(z.tuple([boundedCount, boundedCount, boundedCount])),
});
export type EventCounts = z.infer<typeof eventCountsSchema>;
