/** A planned fault: what the run orders, and what became of the connections. */
import { z } from 'zod';
import { count, counts, histogram, instant } from './bounded-schemas.ts';
import { timeSeriesSchema } from './time-series.ts';

/** `begin`: what happens to the connections is counted from `atUs` on; with `drop`, all of them end now. `end`: until now. */
export const faultOrderSchema = z.discriminatedUnion('stage', [
  z.object({ stage: z.literal('begin'), atUs: instant, drop: z.boolean() }),
  z.object({ stage: z.literal('end') }),
]);
export type FaultOrder = z.infer<typeof faultOrderSchema>;

/**
 * What became of the connections that were open when a planned fault began. `connections = stayed + dropped`;
 * `dropped = back + Σ notBack`. Each sum is of counts that are kept separately, so that both can be checked.
 */
export const faultCountsSchema = z.object({
  connections: count,
  stayed: count,
  /** At least once. */
  dropped: count,
  /** Dropped, and open at the end. */
  back: count,
  /** By cause. */
  notBack: counts,
  /** Returns whose session the server restored. */
  recovered: count,
  /** HDR histogram of the time from `atUs` to the last return of each that is back, in microseconds, compressed base64. */
  backUs: histogram,
  /** Each time that one of them drops, tries to come back, and returns. */
  drops: timeSeriesSchema,
  attempts: timeSeriesSchema,
  returns: timeSeriesSchema,
  /** Attempts that failed, by cause. */
  failedAttempts: counts,
});
export type FaultCounts = z.infer<typeof faultCountsSchema>;
