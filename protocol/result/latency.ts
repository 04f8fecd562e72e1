/** The section `latency` of the result document. */
import { z } from 'zod';
import { byName, count, intervals, object, objectOrNull, rowsOf, summary } from './parts.ts';

/**
 * What latencies count from: the contract's send time; the time in the payload of an event of the server's own, or else
 * the emit of its publisher, or else the first receipt, so that latency is only the spread.
 */
const LATENCY_FROM = ['server', 'payload', 'publisher', 'first receipt'] as const;
export type LatencyFrom = (typeof LATENCY_FROM)[number];

export const latencySchema = object({
  from: z.enum(LATENCY_FROM).describe('what latencies count from'),
  oneWayMs: summary.describe('all receipts'),
  localMs: summary.describe('receivers on the publisher’s worker'),
  crossWorkerMs: summary.describe('receivers on other workers'),
  completionMs: summary.describe('the last receiver of each broadcast: the time to reach all'),
  intervals: objectOrNull({ oneWayMs: intervals, completionMs: intervals }).describe(
    '95 % intervals of these percentiles; null with too few broadcasts',
  ),
  slowFirst: objectOrNull({
    seq: count,
    lastMs: z.number(),
    othersP50Ms: z.number(),
    othersMaxMs: z.number(),
  }).describe('the first broadcast, if it took far longer than the others; it is in all summaries'),
  sendDelayMs: summary.describe('actual less intended send time of the broadcasts'),
  sentinelMs: summary.describe('the reference receiver: otherwise idle, and served last by its worker'),
  behindSentinelMs: summary.describe('how far that worker’s p99 receiver was behind the reference receiver'),
  roundTripHalfMs: object({
    underLoad: summary.describe('the probe’s round trips ÷ 2, all connected'),
    single: summary.describe('likewise, with nobody else connected'),
  }),
  clocks: rowsOf({
    worker: z.string().describe('its name'),
    offsetUs: z.number().describe('how far it is ahead'),
    uncertaintyUs: z.number().describe('largest error of the offset at any of the broadcasts'),
    driftUs: z.number().describe('change of the offset during the broadcasts'),
    // Which nothing but a moved or suspended machine explains.
    jumpUs: z.number().describe('sum of its jumps during the run'),
  }).describe('each worker’s clock against the generator’s; removed from the latencies'),
  histograms: byName(z.string()).describe('HdrHistogram, compressed base64, in microseconds; mergeable'),
});
