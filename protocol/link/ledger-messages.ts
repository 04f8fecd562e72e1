/** Messages about the ledger of broadcasts: the run's requests, and the rows of each fleet process. */
import { z } from 'zod';
import { mergeEncoded } from '../base/histogram.ts';
import { NO_COPIES, RECEIPT_COUNTS } from '../result/delivery-schema.ts';
import { count, each, instant, list, name, sentence } from './bounded-schemas.ts';
import { histogram } from './histogram-schema.ts';

/** Connections that lost copies while they were open, over all finalized broadcasts. */
const lossTotalsSchema = z.object({
  /** Connections that should have received broadcasts. */
  members: count,
  /** Connections that lost a copy. */
  losers: count,
  /** `losers` that received none of their broadcasts. */
  gotNothing: count,
  /** HDR histogram, compressed base64: lost copies per loser that received some. */
  lost: histogram,
  /** HDR histogram, compressed base64: expected broadcasts per loser. */
  expected: histogram,
  /** HDR histogram, compressed base64: microseconds from the join to the first receipt, of losers that lost nothing after it. */
  startedUs: histogram,
  /** HDR histogram, compressed base64: microseconds from the join to the last lost copy, of losers that received none. */
  unstartedUs: histogram,
});
export type LossTotals = z.infer<typeof lossTotalsSchema>;

/** Totals of all frames with the broadcast event. The columns of single broadcasts are in `FrozenBroadcast`. */
export const receiptTotalsSchema = z.object({
  /** All readable frames: every column but `unreadable`. */
  received: count,
  duplicates: count,
  /** Received after the broadcast's row was finalized. */
  late: count,
  unreadable: count,
  /** Received with a number that the run never sends. */
  neverOrdered: count,
  /** Copies of broadcasts without finalized rows. After the last finalization, the run never ordered these broadcasts. */
  open: count,
  losses: lossTotalsSchema,
});
export type ReceiptTotals = z.infer<typeof receiptTotalsSchema>;

/** Request to finalize the ledger of a broadcast; `sentAtUs` determines its members. */
export const freezeOrderSchema = z.object({
  seq: z.int().nonnegative(),
  room: name,
  sentAtUs: instant,
  /** Intended send time. Latency counts from here, so that queueing in a late publisher is included (no coordinated omission). */
  intendedAtUs: instant,
  /** Time of the order. The server counts the members between this and the send. */
  orderedAtUs: instant.optional(),
  /** Time of the previous order, or of the first begin. The server's count already excludes clients that left before this time. */
  previousAtUs: instant.optional(),
  /** The broadcast's id in the user's own event; its `seq` is then assigned by the run. */
  id: name.optional(),
  /** Publishing worker, if known. */
  worker: name.optional(),
  /** Start of latencies, instead of `intendedAtUs`; null if unknown. */
  latencyFromAtUs: instant.nullable().optional(),
});
export type FreezeOrder = z.infer<typeof freezeOrderSchema>;

/** A fleet process's ledger row for a broadcast. `expected = received + lostConnected + lostDisconnected`. */
export const frozenBroadcastSchema = z.object({
  /** Number of the process within its engine's fleet. */
  process: count,
  seq: z.int().nonnegative(),
  ...each(RECEIPT_COUNTS, count).shape,
  /** How long before the send the earliest copy arrived; 0 if none was early. */
  earlyByUs: count,
  /** Checksum of the receiving connections of this process; equal for broadcasts with the same receivers. */
  receivers: count,
  /** HDR histograms of receipt − intendedAtUs in microseconds, for receivers on the publisher's worker and on others. */
  latencyUs: z.object({ local: histogram, cross: histogram }),
  /** Latency of the first and of the last receiver. */
  firstUs: count,
  lastUs: count,
  /** Set if the host was lost: `expected` is then an upper bound. */
  assumed: z.literal(true).optional(),
  /** Set if the send time is unknown, so there are no latencies. */
  untimed: z.literal(true).optional(),
  /** Set if the worker of the publisher or of some receivers is unknown, so only the sum of `local` and `cross` is right. */
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

/** A broadcast of the user's own event, as seen by a fleet process. */
const sightingSchema = z.object({
  id: sentence,
  firstAtUs: instant,
  /** Send time as written by the server, in an unknown unit. */
  sentAt: z.union([name, z.number()]).optional(),
  /** Length of the first copy's JSON. */
  bytes: count,
  /** Number of first copies so far. */
  reached: count,
  /** Whether its copies are counted in a ledger row. */
  counted: z.boolean(),
});
export type Sighting = z.infer<typeof sightingSchema>;

/** Sightings of a fleet process. */
export const sightingsSchema = z.object({
  /** Broadcasts that are not finalized. */
  ids: list(sightingSchema),
  /** Used share of the memory for their rows, 0 to 1. */
  filled: count,
  /** Example of a copy without an id. */
  example: sentence.optional(),
  /** Paths of other ids in the copies besides the option's path, each with an example. */
  others: list(z.tuple([sentence, name])).optional(),
  /** Rooms with their number of members; sent once, when the run begins to watch. */
  rooms: list(z.tuple([name, count])).optional(),
});
export type Sightings = z.infer<typeof sightingsSchema>;
