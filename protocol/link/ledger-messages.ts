/**
 * Messages about the ledger, which records for each broadcast how many copies arrived: requests from the run, and rows
 * of each fleet process.
 */
import { z } from 'zod';
import { mergeEncodedHistograms } from '../base/histogram.ts';
import { NO_RECEIPT_COUNTS, RECEIPT_COUNTS } from '../result/delivery-schema.ts';
import {
  boundedCount,
  boundedInstant,
  boundedList,
  boundedName,
  boundedText,
  objectWithKeys,
} from './bounded-schemas.ts';
import { histogramSchema } from './histogram-schema.ts';

/** Connections that lost copies while they were open, for all finalized broadcasts. */
const lossTotalsSchema = z.object({
  /** Number of connections that should have received broadcasts. */
  members: boundedCount,
  /** Number of connections that lost at least one copy. */
  losers: boundedCount,
  /** Connections that lost copies and received no copy at all. */
  receivedNone: boundedCount,
  /** HDR histogram, compressed base64: lost copies per connection that lost some and received some. */
  lost: histogramSchema,
  /** HDR histogram, compressed base64: expected broadcasts per connection that lost copies. */
  expected: histogramSchema,
  /**
   * HDR histogram, compressed base64: microseconds from the join to the first received copy. For connections that lost
   * copies only before the first received copy.
   */
  startedUs: histogramSchema,
  /**
   * HDR histogram, compressed base64: microseconds from the join to the last lost copy. For connections that received
   * no copy.
   */
  unstartedUs: histogramSchema,
});
export type LossTotals = z.infer<typeof lossTotalsSchema>;

/** Totals of all received frames with the broadcast event. `FrozenBroadcast` has the counts of single broadcasts. */
export const receiptTotalsSchema = z.object({
  /** All readable frames. They are in all columns except `unreadable`. */
  received: boundedCount,
  duplicates: boundedCount,
  /** Copies that arrived after the row of their broadcast was finalized. */
  late: boundedCount,
  unreadable: boundedCount,
  /** Copies with the number of a broadcast that the run did not send. */
  unknownBroadcast: boundedCount,
  /**
   * Copies of broadcasts whose ledger rows are not finalized. After the last row is finalized, these are copies of
   * broadcasts that the run did not request.
   */
  open: boundedCount,
  losses: lossTotalsSchema,
});
export type ReceiptTotals = z.infer<typeof receiptTotalsSchema>;

/**
 * Request to finalize the ledger row of a broadcast. `sentAtUs` determines which connections were members of the room.
 */
export const freezeRequestSchema = z.object({
  seq: z.int().nonnegative(),
  room: boundedName,
  sentAtUs: boundedInstant,
  /**
   * Intended send time. Latencies are measured from it, so that queueing in a late publisher is included (no
   * coordinated omission).
   */
  intendedAtUs: boundedInstant,
  /**
   * Time at which the run requested the broadcast from the worker. The server counts the members between this time and
   * the send.
   */
  orderedAtUs: boundedInstant.optional(),
  /**
   * Time at which the run requested the previous broadcast, or the start. The server's member count already excludes
   * clients that left before this time.
   */
  previousAtUs: boundedInstant.optional(),
  /** Id of the broadcast, if it is an event of the user's own server. The run assigns the number `seq` in this case. */
  id: boundedName.optional(),
  /** Worker that published the broadcast, if it is known. */
  worker: boundedName.optional(),
  /** Time from which latencies are measured, if it is not `intendedAtUs`; null if unknown. */
  latencyFromAtUs: boundedInstant.nullable().optional(),
});
export type FreezeRequest = z.infer<typeof freezeRequestSchema>;

/** Ledger row for a broadcast in a fleet process. `expected = received + lostConnected + lostDisconnected`. */
export const frozenBroadcastSchema = z.object({
  /** Number of the fleet process within its engine. */
  process: boundedCount,
  seq: z.int().nonnegative(),
  ...objectWithKeys(RECEIPT_COUNTS, boundedCount).shape,
  /**
   * Microseconds by which the earliest copy arrived before the send time; 0 if no copy was early. A positive value
   * shows a wrong clock.
   */
  earlyByUs: boundedCount,
  /**
   * Checksum of the connections that received the broadcast in this process. Two broadcasts with the same receivers
   * have the same checksum.
   */
  receivers: boundedCount,
  /**
   * HDR histograms of the latency (receipt − intendedAtUs) in microseconds: for receivers on the publisher's worker,
   * and for receivers on other workers.
   */
  latencyUs: z.object({ local: histogramSchema, cross: histogramSchema }),
  /** Latency of the first receiver (`firstUs`) and of the last receiver (`lastUs`). */
  firstUs: boundedCount,
  lastUs: boundedCount,
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

const NO_LATENCY = mergeEncodedHistograms([]);

export const NO_LOSSES: LossTotals = {
  ...{ members: 0, losers: 0, receivedNone: 0 },
  ...{ lost: NO_LATENCY, expected: NO_LATENCY, startedUs: NO_LATENCY, unstartedUs: NO_LATENCY },
};

/** Returns a ledger row for a broadcast without members and receipts. */
export function emptyLedgerRow(seq: number): FrozenBroadcast {
  return {
    ...{ process: 0, seq, ...NO_RECEIPT_COUNTS, earlyByUs: 0, receivers: 0, firstUs: 0, lastUs: 0 },
    latencyUs: { local: NO_LATENCY, cross: NO_LATENCY },
  };
}

/** Broadcast of the user's own event. A fleet process has received at least one copy. */
const sightingSchema = z.object({
  id: boundedText,
  firstAtUs: boundedInstant,
  /** Send time in the payload, as the server wrote it. Its unit is unknown. */
  sentAt: z.union([boundedName, z.number()]).optional(),
  /** Length of the first copy as JSON, in bytes. */
  bytes: boundedCount,
  /** Number of connections that have received a copy so far. */
  reached: boundedCount,
  /** Whether the copies are counted in a ledger row. */
  counted: z.boolean(),
});
export type OwnEventSighting = z.infer<typeof sightingSchema>;

/** Broadcasts of the user's own event that a fleet process has received. */
export const ownEventSightingsSchema = z.object({
  /** Broadcasts whose ledger rows are not finalized, by id. */
  ids: boundedList(sightingSchema),
  /** Used share of the memory for ledger rows, from 0 to 1. */
  filled: boundedCount,
  /** Example of a copy that has no id. */
  example: boundedText.optional(),
  /** Other paths in the copies that contain ids, each with an example. */
  others: boundedList(z.tuple([boundedText, boundedName])).optional(),
  /** Rooms with their number of members. Sent once, when the counting begins. */
  rooms: boundedList(z.tuple([boundedName, boundedCount])).optional(),
});
export type OwnEventSightings = z.infer<typeof ownEventSightingsSchema>;
