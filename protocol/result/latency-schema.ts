/** Section `latency` of the result document. */
import { z } from 'zod';
import { describeFigure } from './figure.ts';
import {
  intervalsByPercentile,
  listOfObjects,
  objectSchemaOrNull,
  recordOf,
  resultCount,
  strictObject,
  summaryOrNull,
} from './shared-schemas.ts';

const time = { quantity: 'milliseconds', answers: ['latency'], follows: 'load' } as const;
const ofBroadcasts = { ...time, noise: 'broadcasts' } as const;

/**
 * Times from which latency is measured. `server`: the send time in the wire contract. For the user's own event: the
 * time in the payload; without it, the publisher's emit; without that, the first receipt, so that latencies show only
 * the spread.
 */
const LATENCY_FROM = ['server', 'payload', 'publisher', 'first receipt'] as const;
export type LatencyFrom = (typeof LATENCY_FROM)[number];

export const latencySchema = strictObject({
  from: z.enum(LATENCY_FROM).describe('start of latencies'),
  oneWayMs: describeFigure(summaryOrNull, 'all receipts', {
    ...{ ...ofBroadcasts, title: 'One way', threshold: 'socketio.broadcast.latency' },
    compared: { p50: 'secondary', p99: 'primary' },
  }),
  localMs: summaryOrNull.describe('receivers on the worker that sent'),
  crossWorkerMs: summaryOrNull.describe('receivers on other workers'),
  completionMs: describeFigure(summaryOrNull, 'the last receiver of each broadcast', {
    ...{ ...ofBroadcasts, title: 'Last receiver', threshold: 'socketio.broadcast.completion' },
    compared: { p50: 'secondary' },
  }),
  intervals: objectSchemaOrNull({ oneWayMs: intervalsByPercentile, completionMs: intervalsByPercentile }).describe(
    '95 % intervals; null with too few broadcasts',
  ),
  slowFirst: objectSchemaOrNull({
    seq: resultCount,
    lastMs: z.number(),
    othersP50Ms: z.number(),
    othersMaxMs: z.number(),
  }).describe('the first broadcast, if much slower than the others'),
  sendDelayMs: describeFigure(summaryOrNull, 'actual less intended send', {
    ...{ ...time, threshold: 'socketio.broadcast.send_delay' },
  }),
  sentinelMs: describeFigure(summaryOrNull, 'the [reference receiver](../method/latency.md#reference-receiver)', {
    ...{ ...time, threshold: 'socketio.broadcast.sentinel' },
    live: {
      series: 'sentinel_latency_seconds',
      help: 'Latency of the latest broadcast at the reference receiver, from the intended send time',
    },
  }),
  behindSentinelMs: summaryOrNull.describe('how far its worker’s p99 receiver was behind it'),
  roundTripHalfMs: strictObject({
    underLoad: describeFigure(summaryOrNull, 'all connected', {
      ...{ ...time, title: 'Round trip ÷ 2 under load', threshold: 'socketio.broadcast.round_trip_half_under_load' },
      compared: { p50: 'secondary' },
    }),
    single: describeFigure(summaryOrNull, 'before any other connection', {
      ...{ ...time, title: 'Round trip ÷ 2 alone', threshold: 'socketio.broadcast.round_trip_half_single' },
    }),
  }),
  clocks: listOfObjects({
    worker: z.string().describe('its name'),
    offsetUs: z.number().describe('how far it is ahead'),
    uncertaintyUs: z.number().describe('largest error of the offset at any of the broadcasts'),
    driftUs: z.number().describe('change of the offset during the broadcasts'),
    // A clock jumps only if a machine was moved or suspended.
    jumpUs: z.number().describe('sum of its jumps during the run'),
  }).describe('each worker’s clock less the generator’s; removed from latencies'),
  histograms: recordOf(z.string()).describe('HdrHistogram, compressed base64, in microseconds; mergeable'),
});
