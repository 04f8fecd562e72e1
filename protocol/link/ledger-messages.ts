/** The ledger of broadcasts: what the run asks of it, and what each fleet process has in it. */
import { z } from 'zod';
import { mergeEncoded } from '../base/histogram.ts';
import { NO_COPIES, RECEIPT_COUNTS } from '../result/delivery-schema.ts';
import { count, each, histogram, instant, name } from './bounded-schemas.ts';

/** Connections that lost copies while they were open, over all finalized broadcasts. */
const lossTotalsSchema = z.object({
  /** Connections that broadcasts were for. */
  members: count,
  /** Those that lost a copy. */
  losers: count,
  /** Losers that received none of their broadcasts. */
  gotNothing: count,
  /** HDR histogram, compressed base64: the number of copies that each other loser lost. */
  lost: histogram,
  /** HDR histogram, compressed base64: the number of broadcasts that were for each loser. */
  expected: histogram,
  /** HDR histogram, compressed base64: microseconds from the join to the first receipt, of losers that lost nothing after it. */
  startedUs: histogram,
  /** HDR histogram, compressed base64: microseconds from the join to the last lost copy, of losers that received none. */
  unstartedUs: histogram,
});
export type LossTotals = z.infer<typeof lossTotalsSchema>;

/** Frames that carry the broadcast event, of the whole run. The columns of single broadcasts are in `FrozenBroadcast`. */
export const receiptTotalsSchema = z.object({
  /** All whose payload can be read: of every column but `unreadable`. */
  received: count,
  duplicates: count,
  /** After the broadcast's row was finalized. */
  late: count,
  unreadable: count,
  /** With a number that the run never sends. */
  neverOrdered: count,
  /** Copies of broadcasts whose rows are not finalized: once the run has finalized its own, these were never ordered. */
  open: count,
  losses: lossTotalsSchema,
});
export type ReceiptTotals = z.infer<typeof receiptTotalsSchema>;

/** Request to finalize the ledger of one broadcast: `sentAtUs` determines who was to receive it. */
export const freezeOrderSchema = z.object({
  seq: z.int().nonnegative(),
  room: name,
  sentAtUs: instant,
  /** When it should have been sent. Latency counts from here, so that a late publisher cannot hide a queue. */
  intendedAtUs: instant,
  /** When the run ordered it: the server counts the members between this and the send. */
  orderedAtUs: instant.optional(),
  /** When the run ordered the one before, or began. Who had left by then, the server has noticed when it counts for this one. */
  previousAtUs: instant.optional(),
  /** The broadcast's id in an own event, whose `seq` is only the run's. */
  id: name.optional(),
  /** Which published it, if one is known. */
  worker: name.optional(),
  /** In place of `intendedAtUs` and `sentAtUs`: latency counts from here; null if unknown. */
  latencyFromAtUs: instant.nullable().optional(),
});
export type FreezeOrder = z.infer<typeof freezeOrderSchema>;

/** One fleet process's ledger row for one broadcast. `expected = received + lostConnected + lostDisconnected`. */
export const frozenBroadcastSchema = z.object({
  /** Number of the process within its engine's fleet. */
  process: count,
  seq: z.int().nonnegative(),
  ...each(RECEIPT_COUNTS, count).shape,
  /** By how much the earliest of the early ones came before the send; 0 without any. */
  earlyByUs: count,
  /** Checksum of which connections of this process received it: two broadcasts with the same one went to the same. */
  receivers: count,
  /**
   * HDR histograms of receipt − intendedAtUs in microseconds, by where the receiver's worker stands to the publisher's.
   */
  latencyUs: z.object({ local: histogram, cross: histogram }),
  /** Latency of the first and of the last receiver. */
  firstUs: count,
  lastUs: count,
  /** The host is gone: `expected` is the most that it can have been. */
  assumed: z.literal(true).optional(),
  /** Nobody knows when it was sent: there are no latencies. */
  untimed: z.literal(true).optional(),
  /** Nobody knows the worker of some receivers, or of the publisher: `local` and `cross` are right only together. */
  unplaced: z.literal(true).optional(),
});
export type FrozenBroadcast = z.infer<typeof frozenBroadcastSchema>;

const NO_LATENCY = mergeEncoded([]);

export const NO_LOSSES: LossTotals = {
  ...{ members: 0, losers: 0, gotNothing: 0 },
  ...{ lost: NO_LATENCY, expected: NO_LATENCY, startedUs: NO_LATENCY, unstartedUs: NO_LATENCY },
};

/** The row of a broadcast without members or receipts. */
export function emptyRow(seq: number): FrozenBroadcast {
  return {
    ...{ process: 0, seq, ...NO_COPIES, earlyByUs: 0, receivers: 0, firstUs: 0, lastUs: 0 },
    latencyUs: { local: NO_LATENCY, cross: NO_LATENCY },
  };
}
