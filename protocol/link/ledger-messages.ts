/**
 * Messages about the ledger, which records for each broadcast how many copies arrived: requests of the run, and rows of
 * each generator process.
 */
import { z } from 'zod';
import { mergeEncoded } from '../base/histogram.ts';
import { NO_COPIES, RECEIPT_COUNTS } from '../result/delivery-schema.ts';
import { count, each, instant, list, name, sentence } from './bounded-schemas.ts';
import { histogram } from './histogram-schema.ts';

/** Connections that lost copies while they were open, for all finalized broadcasts. */
const lossTotalsSchema = z.object({
  /** Connections that should have received broadcasts. */
  members: count,
  /** Connections that lost at least one copy. */
  losers: count,
  /** Connections that lost copies and received no copy at all. */
  receivedNone: count,
  /** HDR histogram, compressed base64: lost copies per connection that lost some and received some. */
  lost: histogram,
  /** HDR histogram, compressed base64: expected broadcasts per connection that lost copies. */
  expected: histogram,
  /**
   * HDR histogram, compressed base64: microseconds from the join to the first received copy. For connections that lost
   * copies only before the first received copy.
   */
  startedUs: histogram,
  /**
   * HDR histogram, compressed base64: microseconds from the join to the last lost copy. For connections that received
   * no copy.
   */
  unstartedUs: histogram,
});
export type LossTotals = z.infer<typeof lossTotalsSchema>;

/** Totals of all received frames with the broadcast event. `FrozenBroadcast` has the counts of single broadcasts. */
export const receiptTotalsSchema = z.object({
  /** All readable frames, in all columns but `unreadable`. */
  received: count,
  duplicates: count,
  /** Copies that arrived after the row of their broadcast was finalized. */
  late: count,
  unreadable: count,
  /** Copies with a number that the run never sends. */
  unknownBroadcast: count,
  /**
   * Copies of broadcasts whose rows are not finalized. After the last row is finalized, the run did not order these
   * broadcasts.
   */
  open: count,
  losses: lossTotalsSchema,
});
export type ReceiptTotals = z.infer<typeof receiptTotalsSchema>;

/**
 * Request to finalize the ledger row of a broadcast. `sentAtUs` determines which connections were members of the room.
 */
export const freezeOrderSchema = z.object({
  seq: z.int().nonnegative(),
  room: name,
  sentAtUs: instant,
  /**
   * Intended send time. Latencies start here, so that queueing in a late publisher is included (no coordinated
   * omission).
   */
  intendedAtUs: instant,
  /** Time when the run ordered the broadcast. The server counts the members between this time and the send. */
  orderedAtUs: instant.optional(),
  /**
   * Time of the previous order, or of the start. The server's count already excludes clients that left before this
   * time.
   */
  previousAtUs: instant.optional(),
  /** Id of the broadcast in the user's own event. The run assigns the number `seq` in this case. */
  id: name.optional(),
  /** Worker that published the broadcast, if known. */
  worker: name.optional(),
  /** Start of latencies if it is not `intendedAtUs`; null if unknown. */
  latencyFromAtUs: instant.nullable().optional(),
});
export type FreezeOrder = z.infer<typeof freezeOrderSchema>;

/** Ledger row of a generator process for a broadcast. `expected = received + lostConnected + lostDisconnected`. */
export const frozenBroadcastSchema = z.object({
  /** Number of the generator process within its engine. */
  process: count,
  seq: z.int().nonnegative(),
  ...each(RECEIPT_COUNTS, count).shape,
  /**
   * Microseconds by which the earliest copy arrived before the send time; 0 if no copy was early. A positive value
   * shows a wrong clock.
   */
  earlyByUs: count,
  /**
   * Checksum of the connections that received the broadcast in this process. Two broadcasts with the same receivers
   * have the same checksum.
   */
  receivers: count,
  /**
   * HDR histograms of receipt − intendedAtUs in microseconds: for receivers on the publisher's worker, and for
   * receivers on other workers.
   */
  latencyUs: z.object({ local: histogram, cross: histogram }),
  /** Latency of the first and of the last receiver. */
  firstUs: count,
  lastUs: count,
  /** Set if contact with the generator host was lost. `expected` is then an upper bound. */
  assumed: z.literal(true).optional(),
  /** Set if the send time is unknown. There are then no latencies. */
  untimed: z.literal(true).optional(),
  /**
   * Set if the worker of the publisher or of some receivers is unknown. Only the sum of `local` and `cross` is then
   * correct.
   */
  unplaced: z.literal(true).optional(),
});
export type FrozenBroadcast = z.infer<typeof frozenBroadcastSchema>;

const NO_LATENCY = mergeEncoded([]);

export const NO_LOSSES: LossTotals = {
  ...{ members: 0, losers: 0, receivedNone: 0 },
  ...{ lost: NO_LATENCY, expected: NO_LATENCY, startedUs: NO_LATENCY, unstartedUs: NO_LATENCY },
};

/** Returns the row of a broadcast without members and receipts. */
export function emptyRow(seq: number): FrozenBroadcast {
  return {
    ...{ process: 0, seq, ...NO_COPIES, earlyByUs: 0, receivers: 0, firstUs: 0, lastUs: 0 },
    latencyUs: { local: NO_LATENCY, cross: NO_LATENCY },
  };
}

/** Broadcast of the user's own event that a generator process has received. */
const sightingSchema = z.object({
  id: sentence,
  firstAtUs: instant,
  /** Send time as written by the server. Its unit is unknown. */
  sentAt: z.union([name, z.number()]).optional(),
  /** Length of the first copy as JSON, in bytes. */
  bytes: count,
  /** Number of connections that have received a copy so far. */
  reached: count,
  /** Whether the copies are counted in a ledger row. */
  counted: z.boolean(),
});
export type Sighting = z.infer<typeof sightingSchema>;

/** User's own events that a generator process has received. */
export const sightingsSchema = z.object({
  /** Broadcasts without a finalized row. */
  ids: list(sightingSchema),
  /** Used share of the memory for ledger rows, from 0 to 1. */
  filled: count,
  /** Example of a copy without an id. */
  example: sentence.optional(),
  /** Other paths in the copies that contain ids, each with an example. */
  others: list(z.tuple([sentence, name])).optional(),
  /** Rooms with their number of members. Sent once, when the counting begins. */
  rooms: list(z.tuple([name, count])).optional(),
});
export type Sightings = z.infer<typeof sightingsSchema>;
