/** Section `delivery` of the result document. Every frame with the broadcast event is counted in exactly one column. */
import { z } from 'zod';
import { ROOM_ORDERS } from '../wire/rooms.ts';
import { describeFigure } from './figure.ts';
import {
  listOfObjects,
  objectSchemaOrNull,
  resultCount,
  schemaOrNull,
  secondsSchema,
  strictObject,
} from './shared-schemas.ts';

const receipts = { quantity: 'count', noun: 'receipts', answers: ['delivery'], threshold: true } as const;
const share = { quantity: 'share', answers: ['delivery'], threshold: true } as const;

/** Counts of received copies, for one broadcast or for all broadcasts together. */
const receiptShape = {
  expected: describeFigure(resultCount, 'members of the room at the send', {
    ...receipts,
    live: { series: 'receipts_expected_total', help: 'Members of the room, over all broadcasts' },
  }),
  received: describeFigure(resultCount, 'first receipts of expected connections', {
    ...receipts,
    live: { series: 'receipts_total', help: 'Broadcasts received by all connections' },
  }),
  lostConnected: describeFigure(resultCount, 'not received; the connection stayed open', receipts),
  lostDisconnected: describeFigure(resultCount, 'not received; the connection ended after the send', receipts),
  // No finding invalidates the number of duplicates. A duplicate is certain even if other counts are doubtful.
  duplicates: describeFigure(resultCount, 'receipts after a connection’s first', {
    ...{ ...receipts, title: 'Duplicate copies', answers: [], compared: 'secondary' },
  }),
  reordered: describeFigure(schemaOrNull(resultCount), 'first receipts after a later broadcast', receipts),
  unexpected: describeFigure(resultCount, 'by connections whose join was not yet acknowledged', receipts),
  notMember: describeFigure(resultCount, 'first receipts by connections that never asked to join', receipts),
  wrongSize: describeFigure(schemaOrNull(resultCount), 'copies of another length; no receipts', receipts),
  wrongContent: describeFigure(
    schemaOrNull(resultCount),
    'copies that differ, among those compared; no receipts',
    receipts,
  ),
  early: describeFigure(schemaOrNull(resultCount), 'first receipts before the send; part of the above', receipts),
  missed: resultCount.describe('expected, but disconnected at the send; the session was restored'),
  resent: resultCount.describe('missed, then received; part of `received`'),
  // Includes the run's own receivers that left before they received a copy.
  justJoined: schemaOrNull(resultCount).describe('members that joined between order and send'),
  justLeft: schemaOrNull(resultCount).describe('members that left between order and send, or later'),
};
export type ReceiptCount = keyof typeof receiptShape;
/** Counts that are added up over fleet processes and broadcasts. */
export const RECEIPT_COUNTS = Object.keys(receiptShape) as ReceiptCount[];
export const NO_RECEIPT_COUNTS = Object.fromEntries(RECEIPT_COUNTS.map((key) => [key, 0])) as Record<
  ReceiptCount,
  number
>;

const latency = z.number().nullable();

const batchSchema = strictObject({
  seq: resultCount.describe('its number, from 1'),
  broadcasts: resultCount.describe('broadcasts in the row; several in long runs with an own event'),
  room: schemaOrNull(z.string()).describe(
    'its room, after its namespace if that is not the main one (`/chat,room`); null for an own event without `audience`',
  ),
  serverMembers: resultCount.nullable().describe('members by the server’s own count, just before sending'),
  ...receiptShape,
  t: schemaOrNull(secondsSchema),
  sendDelayMs: z.number().nullable().describe('actual less intended send time; null if no worker confirmed it'),
  firstMs: latency.describe('latency of the first receiver'),
  p50Ms: latency.describe('median receiver; null with a single one'),
  p99Ms: latency.describe('99th percentile; null with fewer than 100 receivers'),
  lastMs: latency.describe('last receiver'),
  dueToLastMs: latency.describe('from the intended send to the last receipt, regardless of `latency.from`'),
  earlyByMs: latency.describe('by how much the earliest receipt preceded the send'),
});

/** Section on delivered copies. Null for external engines, which do not count copies. */
export const deliverySchema = strictObject({
  source: z.enum(['contract', 'own event']).describe('what was counted'),
  event: z.string().describe('name of the event'),
  publisher: z.enum(['worker', 'run']).nullable().describe('publisher: a worker, or the run’s connections'),
  payloadBytes: resultCount.describe('length of one; of an own event, the mean of its JSON'),
  binary: z.boolean().describe('sent as an attachment'),
  broadcasts: describeFigure(resultCount, 'broadcasts sent', {
    ...{ quantity: 'count', noun: 'broadcasts', answers: ['delivery'], live: { series: 'broadcasts_total' } },
  }),
  unconfirmed: schemaOrNull(resultCount).describe('of these, not confirmed, but with copies'),
  unknown: schemaOrNull(resultCount).describe('neither confirmed nor received: perhaps not sent'),
  coverage: describeFigure(z.number().nullable(), 'received ÷ expected', {
    ...{ ...share, title: 'Delivered', better: 'higher', compared: 'secondary' },
    faults: ({ expected, received }: Record<ReceiptCount, number>) => expected - received,
  }),
  coverageOfTarget: describeFigure(
    schemaOrNull(z.number()),
    'received ÷ (target × broadcasts); null where users leave',
    share,
  ),
  ...receiptShape,
  late: describeFigure(resultCount, 'after the ledger was closed', receipts),
  unreadable: describeFigure(resultCount, 'unreadable frames with the event', receipts),
  unknownBroadcast: describeFigure(schemaOrNull(resultCount), 'of broadcasts that the run did not send', receipts),
  outside: schemaOrNull(resultCount).describe('copies of an own event from before, after, or others'),
  frames: schemaOrNull(resultCount).describe('all frames with the event'),
  rooms: objectSchemaOrNull({
    count: resultCount,
    perConnection: resultCount,
    order: z.enum(ROOM_ORDERS),
    seed: resultCount,
    reached: resultCount.describe('rooms that got at least one broadcast'),
  }).describe('the option `rooms`'),
  unreachedGroup: objectSchemaOrNull({
    broadcasts: resultCount,
    connections: resultCount.describe('the connections that missed them, although they were open'),
    workers: z
      .array(z.string())
      .describe('the workers that sent none of these broadcasts, if they hold exactly as many connections'),
    isLasting: z
      .boolean()
      .default(true)
      .describe('every broadcast since the first of them missed these connections: they received none from then on'),
  }).describe('the largest group of broadcasts that missed the same connections'),
  losses: objectSchemaOrNull({
    members: resultCount.describe('connections that should have received broadcasts'),
    losers: resultCount.describe('members that lost a copy while they were open'),
    receivedNone: resultCount.describe('losers that received none of their broadcasts'),
    fewest: resultCount.describe('fewest copies that one of the other losers lost; 0 without others'),
    median: resultCount,
    most: resultCount,
    broadcasts: resultCount.describe('largest number of broadcasts expected by one of them'),
    started: objectSchemaOrNull({
      connections: resultCount.describe('losers that received every broadcast from their first one on'),
      fromSeconds: z
        .number()
        .nonnegative()
        .describe('shortest time from the join to the first receipt of such a connection'),
      toSeconds: z.number().nonnegative().describe('longest such time'),
      unstartedSeconds: z.number().nonnegative().describe('longest time since the join of a loser that received none'),
    })
      .default(null)
      .describe('losers that began to receive some time after their join; null without any'),
  })
    .default(null)
    .describe('distribution of `lostConnected` over connections'),
  batches: z.array(batchSchema).describe('each broadcast'),
}).nullable();

export type BroadcastBatch = z.infer<typeof batchSchema>;

export const eventCountsResultSchema = z
  ._default(
    listOfObjects({
      event: z.string().describe('its name'),
      seconds: z.number().describe('how long copies were counted'),
      receivers: resultCount.describe('connections that were open all the time'),
      copies: resultCount.describe('of all receivers'),
      sent: resultCount
        .nullable()
        .default(null)
        .describe(
          'messages from which the server made the copies, against which those of each connection are compared: those of the run’s connections (`from`), or by the server’s `counter`; null: unknown',
        ),
      most: resultCount.describe(
        'copies of the connection that got most, against which the others are compared if `sent` is null',
      ),
      fewest: resultCount.describe('copies of the connection that got fewest'),
      missingAtLeast: resultCount.describe(
        'fewer than `sent` by others, or than `most`, by more than copies under way can explain',
      ),
      missingAtMost: resultCount.describe('fewer than `sent` by others, or than `most`'),
    }),
    [],
  )
  .describe('Copies of the events in the option `counts`, which have no ids: which copies are missing is unknown.');
