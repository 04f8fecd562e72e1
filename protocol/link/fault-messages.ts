/** Messages about a planned fault: requests from the run, and counts of affected connections. */
import { z } from 'zod';
import { boundedCount, boundedCounts, boundedInstant } from './bounded-schemas.ts';
import { histogramSchema } from './histogram-schema.ts';
import { timeSeriesSchema } from './time-series.ts';

/**
 * Request to an engine. `begin` starts the counts at `atUs`; with `drop`, it also closes all connections. `end` ends
 * the counts.
 */
export const faultCommandSchema = z.discriminatedUnion('stage', [
  z.object({ stage: z.literal('begin'), atUs: boundedInstant, drop: z.boolean() }),
  z.object({ stage: z.literal('end') }),
]);
export type FaultCommand = z.infer<typeof faultCommandSchema>;

/**
 * Counts of connections that were open at the start of a planned fault. `connections = stayed + dropped`; `dropped =
 * reconnected + Σ notReconnected`. Every count is kept separately, so that these sums can be checked.
 */
export const faultCountsSchema = z.object({
  connections: boundedCount,
  stayed: boundedCount,
  /** Connections that were dropped at least once. */
  dropped: boundedCount,
  /** Connections that were dropped and are connected again at the end. */
  reconnected: boundedCount,
  /** Connections that were dropped and did not reconnect, by cause. */
  notReconnected: boundedCounts,
  /** Number of connections whose reconnect restored the session. */
  recovered: boundedCount,
  /** HDR histogram, compressed base64: microseconds from `atUs` to the last reconnect of each `reconnected`. */
  reconnectUs: histogramSchema,
  /** Drops (`drops`), reconnect attempts and successful reconnects over time. */
  drops: timeSeriesSchema,
  attempts: timeSeriesSchema,
  returns: timeSeriesSchema,
  /** Number of failed reconnect attempts, by cause. */
  failedAttempts: boundedCounts,
});
export type FaultCounts = z.infer<typeof faultCountsSchema>;
