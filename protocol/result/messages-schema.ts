/** Section `messages` of the result document: messages that clients send repeatedly (step `every`). */
import { z } from 'zod';
import { figure } from './figure.ts';
import { byName, count, object, objectOrNull, rowsOf, summary } from './shared-schemas.ts';

const messages = { quantity: 'count', noun: 'messages', answers: ['delivery'], threshold: true } as const;
const time = { quantity: 'milliseconds', answers: ['latency'], follows: 'load' } as const;

/** Duration of a worker's handler, in milliseconds. */
const handlerSchema = object({ p50: z.number(), p95: z.number(), max: z.number() });

const workerSchema = object({
  worker: z.string().describe('its name'),
  batches: count.describe('messages acknowledged by the handler of `event_batch` in `instrument(io)`'),
  events: count.describe('events in them'),
  handlerMs: handlerSchema.nullable().describe('from the call of the handler to its acknowledgement'),
  queueMs: object({ p50: z.number(), p99: z.number(), max: z.number() }).describe('delay of the worker’s event loop'),
});

export const messagesSchema = objectOrNull({
  steps: rowsOf({
    event: z.string(),
    seconds: z.number(),
    count,
    events: count,
    acknowledge: z.boolean(),
  }).describe('the steps [`every`](./steps.md) of the flows'),
  connections: count.describe('connections × steps that have begun'),
  due: figure(count, 'by the schedule; `due = sent + Σ notSent`', messages),
  sent: figure(
    count,
    '`sent = ackNotRequested + acknowledged + unansweredConnected + unansweredDisconnected`',
    messages,
  ),
  notSent: figure(
    object({
      missed: count.describe('the generator was late by a whole period'),
      disconnected: count.describe('there was no connection'),
    }),
    'by cause',
    messages,
  ),
  ackNotRequested: count.describe('sent without asking for an acknowledgement'),
  acknowledged: figure(count, 'sent and acknowledged', messages),
  unansweredConnected: figure(count, 'the connection stayed open', messages),
  waitingConnections: count.nullable().default(null).describe('connections of `unansweredConnected`'),
  unansweredDisconnected: figure(count, 'the connection ended', messages),
  skippedByServer: byName(count).describe(
    'of `unansweredConnected`, by event: a newer one was acknowledged, or none ever was',
  ),
  answered: figure(z.number().nullable(), 'acknowledged ÷ (sent − ackNotRequested)', {
    ...{ title: 'Messages acknowledged', quantity: 'share', better: 'higher', answers: ['delivery'] },
    ...{ compared: 'secondary', threshold: true },
    faults: ({ sent, ackNotRequested, acknowledged }: Record<'sent' | 'ackNotRequested' | 'acknowledged', number>) =>
      sent - ackNotRequested - acknowledged,
  }),
  window: object({
    seconds: z.number(),
    sent: count,
    acknowledged: count,
    sentPerSec: z.number(),
    queued: z
      .array(count)
      .describe(
        'messages waiting for their acknowledgement, at the start of each part and at the end; without `skippedByServer`',
      ),
    eventsPerSec: z.number().nullable().describe('events per second; null if the steps differ'),
  })
    .nullable()
    .describe('in the hold'),
  ackMs: figure(summary, 'in the hold, from the intended send to the acknowledgement', {
    ...{ ...time, title: 'Message to acknowledgement', threshold: 'socketio.messages.ack_time' },
    compared: { p50: 'secondary', p95: 'primary' },
  }),
  sendDelayMs: figure(summary, 'in the hold, actual less intended send; part of `ackMs`', {
    ...{ ...time, threshold: 'socketio.messages.send_delay' },
  }),
  outsideAckMs: summary.describe('outside of the hold'),
  workers: z.array(workerSchema).describe('by worker, in the hold'),
  histograms: byName(z.string()).describe('HdrHistogram, compressed base64, in microseconds; mergeable'),
});

export type Messages = NonNullable<z.infer<typeof messagesSchema>>;
