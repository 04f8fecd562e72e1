/** Messages about a planned fault: the run's orders, and counts of its effect on connections. */
import { z } from 'zod';
import { count, counts, instant } from './bounded-schemas.ts';
import { histogram } from './histogram-schema.ts';
import { timeSeriesSchema } from './time-series.ts';

/** `begin` starts the counts at `atUs`, and with `drop` closes all connections now. `end` ends the counts. */
export const faultOrderSchema = z.discriminatedUnion('stage', [
  z.object({ stage: z.literal('begin'), atUs: instant, drop: z.boolean() }),
  z.object({ stage: z.literal('end') }),
]);
export type FaultOrder = z.infer<typeof faultOrderSchema>;

/**
 * Counts of the connections that were open when a planned fault began. `connections = stayed + dropped`; `dropped = back + Σ notBack`. All
 * counts are kept independently, so that these sums can be checked.
 */
export const faultCountsSchema = z.object({
  connections: count,
  stayed: count,
  /** Dropped at least once. */
  dropped: count,
  /** Dropped, and connected again at the end. */
  back: count,
  /** Dropped and not reconnected, by cause. */
  notBack: counts,
  /** Reconnects with a restored session. */
  recovered: count,
  /** HDR histogram of the time from `atUs` to the last reconnect of each connection in `back`, in microseconds, compressed base64. */
  backUs: histogram,
  /** Drops, reconnect attempts, and successful reconnects over time. */
  drops: timeSeriesSchema,
  attempts: timeSeriesSchema,
  returns: timeSeriesSchema,
  /** Failed attempts by cause. */
  failedAttempts: counts,
});
export type FaultCounts = z.infer<typeof faultCountsSchema>;
