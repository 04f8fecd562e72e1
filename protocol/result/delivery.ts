/** The section `delivery` of the result document: every frame that carries the broadcast event is in one column. */
import { z } from 'zod';
import { ROOM_ORDERS } from '../rooms.ts';
import { count } from './parts.ts';

/** Of one broadcast, or of all together. */
const receiptShape = {
  expected: count,
  received: count,
  lostConnected: count,
  lostDisconnected: count,
  duplicates: count,
  /** First receipts by connections that had a later broadcast already; part of `received` and `unexpected`. */
  reordered: count.default(0),
  unexpected: count,
  /** First receipts by connections that never asked to join the room. */
  notMember: count.default(0),
  /** Copies with a payload of another length; they are no receipts. */
  wrongSize: count.default(0),
  /** Likewise, with a payload of other characters, among the copies that were compared. */
  wrongContent: count.default(0),
  /** First receipts before the send; part of `received`, `unexpected` and `notMember`. */
  early: count.default(0),
  /** Of the expected: members whose copy an absence kept away, and whose session the server restored. */
  missed: count.default(0),
  /** Of these, how many got it when they came back; part of `received`. */
  resent: count.default(0),
  /**
   * Received or lost while connected, by members that joined or came back after the run had ordered the broadcast: the server
   * may have counted before. With the run's own receivers that left without a copy.
   */
  justJoined: count.default(0),
  /** Members that left between the order of the broadcast before and the send, so they are not expected: the server may have counted them. */
  justLeft: count.default(0),
};
export type ReceiptCount = keyof typeof receiptShape;
/** The counts that add up over fleet processes and broadcasts. */
export const RECEIPT_COUNTS = Object.keys(receiptShape) as ReceiptCount[];

const batchSchema = z.strictObject({
  seq: count,
  /** That follow each other, and that the row stands for: several in a long run with an event of the server's own. */
  broadcasts: count.default(1),
  /** Null for an event of the server's own, and in results of versions that had one room only. */
  room: z.string().nullable().default(null),
  /** Members of the room as counted by the server when it sent. */
  serverMembers: count.nullable(),
  ...receiptShape,
  /** When it was to be sent, on the time axis of the samples; null where nobody knows, and in results of older versions. */
  t: z.number().nullable().default(null),
  /** Actual minus intended send time. */
  sendDelayMs: z.number(),
  firstMs: z.number().nullable(),
  p50Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
  lastMs: z.number().nullable(),
  /** By how much the earliest receipt came before the send; null without any. */
  earlyByMs: z.number().nullable().default(null),
});

/** Null if the engine keeps no ledger (external engines). */
export const deliverySchema = z
  .strictObject({
    /** The wire contract's broadcast, or an event of the server's own. */
    source: z.enum(['contract', 'own event']).default('contract'),
    /** Its name. */
    event: z.string().default('broadcast'),
    /** Who made the server broadcast; null where the server published by itself. */
    publisher: z.enum(['worker', 'run']).nullable().default('worker'),
    /** Of an event of the server's own, its whole JSON: the mean; 0 if none arrived. */
    payloadBytes: count,
    /** The payload is an attachment of so many bytes. */
    binary: z.boolean().default(false),
    broadcasts: count,
    ...receiptShape,
    late: count,
    /** Frames that carry the broadcast event and whose payload cannot be read. */
    unreadable: count.default(0),
    /** Receipts of broadcasts that the run did not send. */
    neverOrdered: count.default(0),
    /** Of an event of the server's own: copies of ids that came before or after the measurement, or from others. */
    outside: count.default(0),
    /** All frames that carry the broadcast event; null in results of versions that did not count them. */
    frames: count.nullable().default(null),
    /** received ÷ expected; null when nothing was expected. */
    coverage: z.number().nullable(),
    /** received ÷ (all that should be there × broadcasts); null where virtual users come and go. */
    coverageOfTarget: z.number().nullable().default(null),
    /** Null if all are in one room. */
    rooms: z
      .strictObject({
        count,
        /** That each connection joined. */
        perConnection: count,
        /** Of the broadcasts. */
        order: z.enum(ROOM_ORDERS),
        /** Of the random order. */
        seed: count,
        /** That got at least one broadcast. */
        reached: count,
      })
      .nullable()
      .default(null),
    batches: z.array(batchSchema),
  })
  .nullable();

export type Batch = z.infer<typeof batchSchema>;
