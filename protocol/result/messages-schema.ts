/** Section `messages` of the result document: messages that clients send repeatedly (step `every`). */
import { z } from 'zod';
import { describeFigure } from './figure.ts';
import {
  listOfObjects,
  objectSchemaOrNull,
  recordOf,
  resultCount,
  strictObject,
  summaryOrNull,
} from './shared-schemas.ts';

const messages = { quantity: 'count', noun: 'messages', answers: ['delivery'], threshold: true } as const;
const time = { quantity: 'milliseconds', answers: ['latency'], follows: 'load' } as const;

/** Distribution of how long a worker's handler takes, in milliseconds. */
const handlerSchema = strictObject({ p50: z.number(), p95: z.number(), max: z.number() });

const workerSchema = strictObject({
  worker: z.string().describe('its name'),
  batches: resultCount.describe('messages acknowledged by the handler of `event_batch` in `instrument(io)`'),
  events: resultCount.describe('events in them'),
  handlerMs: handlerSchema.nullable().describe('from the call of the handler to its acknowledgement'),
  queueMs: strictObject({ p50: z.number(), p99: z.number(), max: z.number() }).describe(
    'delay of the worker’s event loop',
  ),
});

export const messagesSchema = objectSchemaOrNull({
  steps: listOfObjects({
    event: z.string(),
    seconds: z.number(),
    count: resultCount,
    events: resultCount,
    acknowledge: z.boolean(),
  }).describe('the steps [`every`](./steps.md) of the flows'),
  connections: resultCount.describe('connections × steps that have begun'),
  due: describeFigure(resultCount, 'by the schedule; `due = sent + Σ notSent`', messages),
  sent: describeFigure(
    resultCount,
    '`sent = ackNotRequested + acknowledged + unansweredConnected + unansweredDisconnected`',
    messages,
  ),
  notSent: describeFigure(
    strictObject({
      missed: resultCount.describe('the generator was late by a whole period'),
      disconnected: resultCount.describe('there was no connection'),
    }),
    'by cause',
    messages,
  ),
  ackNotRequested: resultCount.describe('sent without asking for an acknowledgement'),
  acknowledged: describeFigure(resultCount, 'sent and acknowledged', messages),
  unansweredConnected: describeFigure(resultCount, 'the connection stayed open', messages),
  waitingConnections: resultCount.nullable().default(null).describe('connections of `unansweredConnected`'),
  unansweredDisconnected: describeFigure(resultCount, 'the connection ended', messages),
  skippedByServer: recordOf(resultCount).describe(
    'of `unansweredConnected`, by event: a newer one was acknowledged, or none ever was',
  ),
  answered: describeFigure(z.number().nullable(), 'acknowledged ÷ (sent − ackNotRequested)', {
    ...{ title: 'Messages acknowledged', quantity: 'share', better: 'higher', answers: ['delivery'] },
    ...{ compared: 'secondary', threshold: true },
    faults: ({ sent, ackNotRequested, acknowledged }: Record<'sent' | 'ackNotRequested' | 'acknowledged', number>) =>
      sent - ackNotRequested - acknowledged,
  }),
  window: strictObject({
    seconds: z.number(),
    sent: resultCount,
    acknowledged: resultCount,
    sentPerSec: z.number(),
    queued: z
      .array(resultCount)
      .describe(
        'messages waiting for their acknowledgement, at the start of each part and at the end; without `skippedByServer`',
      ),
    eventsPerSec: z.number().nullable().describe('events per second; null if the steps differ'),
  })
    .nullable()
    .describe('in the hold'),
  ackMs: describeFigure(summaryOrNull, 'in the hold, from the intended send to the acknowledgement', {
    ...{ ...time, title: 'Message to acknowledgement', threshold: 'socketio.messages.ack_time' },
    compared: { p50: 'secondary', p95: 'primary' },
  }),
  sendDelayMs: describeFigure(summaryOrNull, 'in the hold, actual less intended send; part of `ackMs`', {
    ...{ ...time, threshold: 'socketio.messages.send_delay' },
  }),
  outsideAckMs: summaryOrNull.describe('outside of the hold'),
  workers: z.array(workerSchema).describe('by worker, in the hold'),
  histograms: recordOf(z.string()).describe('HdrHistogram, compressed base64, in microseconds; mergeable'),
});

export type MessagesResult = NonNullable<z.infer<typeof messagesSchema>>;
