/** The section `delivery` of the result document: every frame that carries the broadcast event is in one column. */
import { z } from 'zod';
import { ROOM_ORDERS } from '../wire/rooms.ts';
import { figure } from './figure.ts';
import { count, object, objectOrNull, orNull, time } from './shared-schemas.ts';

const receipts = { quantity: 'count', noun: 'receipts', answers: ['delivery'], threshold: true } as const;
const share = { quantity: 'share', answers: ['delivery'], threshold: true } as const;

/** Receipts of one broadcast, or of all together. */
const receiptShape = {
  expected: figure(count, 'receipts expected: members of the room at the send', {
    ...receipts,
    live: { series: 'receipts_expected_total', help: 'Members of the room, over all broadcasts' },
  }),
  received: figure(count, 'first receipts of expected connections', {
    ...receipts,
    live: { series: 'receipts_total', help: 'Broadcasts received by all connections' },
  }),
  lostConnected: figure(count, 'not received, although the connection stayed open', receipts),
  lostDisconnected: figure(count, 'not received, and the connection ended after the send', receipts),
  // A received copy is certain, even if other counts are in doubt.
  duplicates: figure(count, 'receipts after a connection’s first', {
    ...{ ...receipts, title: 'Duplicate copies', answers: [], compared: 'secondary' },
  }),
  reordered: figure(
    orNull(count),
    'first receipts by connections that had a later broadcast already; null for an own event',
    receipts,
  ),
  unexpected: figure(count, 'receipts by connections whose join was not acknowledged before the send', receipts),
  notMember: figure(count, 'first receipts by connections that never asked to join the room', receipts),
  wrongSize: figure(
    orNull(count),
    'copies whose payload has another length; no receipts; null for an own event without `bytes`',
    receipts,
  ),
  wrongContent: figure(
    orNull(count),
    'copies whose payload differs, among those compared; no receipts; null for an own event',
    receipts,
  ),
  early: figure(
    orNull(count),
    'first receipts before the send; part of the ones above; null where latency counts from the first receipt',
    receipts,
  ),
  missed: count.describe('expected, but away at the send; the server restored their session'),
  resent: count.describe('missed, and received when they came back; part of `received`'),
  // With the run's own receivers that left without a copy.
  justJoined: orNull(count).describe('members that joined between order and send; null for an own event'),
  justLeft: orNull(count).describe('members that left between order and send; null for an own event'),
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
  broadcasts: figure(count, 'broadcasts sent', {
    ...{ quantity: 'count', noun: 'broadcasts', answers: ['delivery'], live: { series: 'broadcasts_total' } },
  }),
  unconfirmed: orNull(count).describe(
    'broadcasts that no worker confirmed, but copies of which came; part of `broadcasts`; null for an own event',
  ),
  unknown: orNull(count).describe(
    'broadcasts that no worker confirmed, and no copy of which came: whether they were sent is unknown; null for an own event',
  ),
  coverage: figure(z.number().nullable(), 'received ÷ expected', {
    ...{ ...share, title: 'Delivered', better: 'higher', compared: 'secondary' },
    faults: ({ expected, received }: Record<ReceiptCount, number>) => expected - received,
  }),
  coverageOfTarget: figure(
    orNull(z.number()),
    'received ÷ (target × broadcasts); null where virtual users come and go',
    share,
  ),
  ...receiptShape,
  late: figure(count, 'receipts after the ledger was finalized', receipts),
  unreadable: figure(count, 'frames with the event whose payload cannot be read', receipts),
  neverOrdered: figure(
    orNull(count),
    'receipts of broadcasts that the run did not send; null for an own event, which has `outside`',
    receipts,
  ),
  outside: orNull(count).describe(
    'copies of an own event from before or after the measurement, or from others; null for the contract’s broadcasts',
  ),
  frames: orNull(count).describe('all frames with the event'),
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
    isLasting: z
      .boolean()
      .default(true)
      .describe('every broadcast since the first of them missed these connections: they received none from then on'),
  }).describe('the most broadcasts that missed the same connections; null where each missed others'),
  losses: objectOrNull({
    members: count.describe('connections that broadcasts were for'),
    losers: count.describe('how many of them lost a copy while they were open'),
    gotNothing: count.describe('how many of these received none of their broadcasts'),
    fewest: count.describe('copies that one of the others lost, at least; 0 without others'),
    median: count,
    most: count,
    broadcasts: count.describe('the most broadcasts that were for one of them'),
    started: objectOrNull({
      connections: count.describe('losers that received every broadcast from their first one on'),
      fromSeconds: z.number().nonnegative().describe('from the join of such a connection to its first one, at least'),
      toSeconds: z.number().nonnegative().describe('likewise, at most'),
      unstartedSeconds: z
        .number()
        .nonnegative()
        .describe('longest time for which a loser that received none had joined'),
    })
      .default(null)
      .describe('losers that began to receive after their join; null without any'),
  })
    .default(null)
    .describe('how the copies that open connections lost spread over these; null without such a loss'),
  batches: z.array(batchSchema).describe('each broadcast'),
}).nullable();

export type Batch = z.infer<typeof batchSchema>;
