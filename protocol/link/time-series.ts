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

/** Connects, failures and closes over time. All series have the same intervals. */
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

/** Event whose copies are counted, and the events that cause it. */
export interface CountedEvent {
  event: string;
  /** Event from clients that makes the server send the counted event. */
  from?: string | undefined;
  /** Name of the server's counter for the clients' event. */
  counter?: string | undefined;
}

/** Copies of events without ids, counted between two readings. */
export const eventCountsSchema = z.object({
  event: boundedName,
  /** Number of messages from open connections that cause the copies. */
  sent: boundedCount,
  /**
   * How many connections received the same number of copies and sent the same number of messages: copies, messages,
   * connections.
   */
  byCount: boundedList(z.tuple([boundedCount, boundedCount, boundedCount])),
});
export type EventCounts = z.infer<typeof eventCountsSchema>;
