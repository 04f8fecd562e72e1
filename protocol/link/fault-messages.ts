/** Messages about a planned fault: orders of the run, and counts of affected connections. */
import { z } from 'zod';
import { count, counts, instant } from './bounded-schemas.ts';
import { histogram } from './histogram-schema.ts';
import { timeSeriesSchema } from './time-series.ts';

/** Order. `begin` starts the counts at `atUs`; with `drop`, it also closes all connections. `end` ends the counts. */
export const faultOrderSchema = z.discriminatedUnion('stage', [
  z.object({ stage: z.literal('begin'), atUs: instant, drop: z.boolean() }),
  z.object({ stage: z.literal('end') }),
]);
export type FaultOrder = z.infer<typeof faultOrderSchema>;

/**
 * Counts of connections that were open at the start of a planned fault. `connections = stayed + dropped`; `dropped =
 * back + Σ notBack`. Every count is kept separately, so that these sums can be checked.
 */
export const faultCountsSchema = z.object({
  connections: count,
  stayed: count,
  /** Connections that dropped at least once. */
  dropped: count,
  /** Connections that dropped and are connected again at the end. */
  back: count,
  /** Connections that dropped and did not reconnect, by cause. */
  notBack: counts,
  /** Reconnects with a restored session. */
  recovered: count,
  /** HDR histogram, compressed base64: microseconds from `atUs` to the last reconnect of each connection in `back`. */
  backUs: histogram,
  /** Drops, reconnect attempts, and successful reconnects over time. */
  drops: timeSeriesSchema,
  attempts: timeSeriesSchema,
  returns: timeSeriesSchema,
  /** Failed reconnect attempts by cause. */
  failedAttempts: counts,
});
export type FaultCounts = z.infer<typeof faultCountsSchema>;
