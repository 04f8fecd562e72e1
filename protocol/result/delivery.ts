/** The section `delivery` of the result document: every frame that carries the broadcast event is in one column. */
import { z } from 'zod';
import { ROOM_ORDERS } from '../rooms.ts';
import { count, object, objectOrNull, orNull, time } from './parts.ts';

/** Receipts of one broadcast, or of all together. */
const receiptShape = {
  expected: count.describe('receipts expected: members of the room at the send'),
  received: count.describe('first receipts of expected connections'),
  lostConnected: count.describe('not received, although the connection stayed open'),
  lostDisconnected: count.describe('not received, and the connection ended after the send'),
  duplicates: count.describe('receipts after a connection’s first'),
  reordered: count.describe('first receipts by connections that had a later broadcast already'),
  unexpected: count.describe('receipts by connections whose join was not acknowledged before the send'),
  notMember: count.describe('first receipts by connections that never asked to join the room'),
  wrongSize: count.describe('copies whose payload has another length; no receipts'),
  wrongContent: count.describe('copies whose payload differs, among those compared; no receipts'),
  early: count.describe('first receipts before the send; part of the ones above'),
  missed: count.describe('expected, but away at the send; the server restored their session'),
  resent: count.describe('missed, and received when they came back; part of `received`'),
  // With the run's own receivers that left without a copy.
  justJoined: count.describe('members that joined between order and send'),
  justLeft: count.describe('members that left between order and send'),
};
export type ReceiptCount = keyof typeof receiptShape;
/** The counts that add up over fleet processes and broadcasts. */
export const RECEIPT_COUNTS = Object.keys(receiptShape) as ReceiptCount[];
export const NO_COPIES = Object.fromEntries(RECEIPT_COUNTS.map((key) => [key, 0])) as Record<ReceiptCount, number>;

const latency = z.number().nullable();

const batchSchema = object({
  seq: count.describe('its number, from 1'),
  broadcasts: count.describe('broadcasts in the row; several in long runs with an own event'),
  room: orNull(z.string()).describe(
    'its room, after its namespace if that is not the main one (`/chat,room`); null for an own event without `audience`',
  ),
  serverMembers: count.nullable().describe('members by the server’s own count, just before sending'),
  ...receiptShape,
  t: orNull(time),
  sendDelayMs: z.number().nullable().describe('actual less intended send time; null if no worker confirmed it'),
  firstMs: latency.describe('latency of the first receiver'),
  p50Ms: latency.describe('median receiver; null with a single one'),
  p99Ms: latency.describe('99th percentile; null with fewer than 100 receivers'),
  lastMs: latency.describe('last receiver'),
  dueToLastMs: latency.describe('from the intended send to the last receipt, whatever latencies count from'),
  earlyByMs: latency.describe('by how much the earliest receipt preceded the send'),
});

/** Null if the engine keeps no ledger (external engines). */
export const deliverySchema = object({
  source: z.enum(['contract', 'own event']).describe('which broadcasts were counted'),
  event: z.string().describe('name of the event'),
  publisher: z
    .enum(['worker', 'run'])
    .nullable()
    .describe('who made the server broadcast: the run by a control port, or its connections'),
  payloadBytes: count.describe('length of one broadcast; for an own event, the mean length of its JSON'),
  binary: z.boolean().describe('the payload was sent as an attachment'),
  broadcasts: count.describe('broadcasts sent'),
  unconfirmed: count.describe('broadcasts that no worker confirmed, but copies of which came; part of `broadcasts`'),
  unknown: count.describe(
    'broadcasts that no worker confirmed, and no copy of which came: whether they were sent is unknown',
  ),
  ...receiptShape,
  late: count.describe('receipts after the ledger was finalized'),
  unreadable: count.describe('frames with the event whose payload cannot be read'),
  neverOrdered: count.describe('receipts of broadcasts that the run did not send'),
  outside: count.describe('copies of an own event from before or after the measurement, or from others'),
  frames: orNull(count).describe('all frames with the event'),
  coverage: z.number().nullable().describe('received ÷ expected'),
  coverageOfTarget: orNull(z.number()).describe(
    'received ÷ (target × broadcasts); null where virtual users come and go',
  ),
  rooms: objectOrNull({
    count,
    perConnection: count,
    order: z.enum(ROOM_ORDERS),
    seed: count,
    reached: count.describe('how many got at least one broadcast'),
  }).describe('as the option `rooms`; null if all are in one room'),
  leftOut: objectOrNull({
    broadcasts: count,
    connections: count.describe('how many, all of them open'),
    workers: z
      .array(z.string())
      .describe('the workers that sent none of these broadcasts, if they hold exactly as many connections'),
  }).describe('the most broadcasts that missed the same connections; null where each missed others'),
  batches: z.array(batchSchema).describe('each broadcast'),
}).nullable();

export type Batch = z.infer<typeof batchSchema>;
