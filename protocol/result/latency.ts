/** The section `latency` of the result document. */
import { z } from 'zod';
import { count, intervals, summary } from './parts.ts';

/**
 * What latencies count from: the contract's send time; the time in the payload of an event of the server's own, or else
 * the emit of its publisher, or else the first receipt, so that only the spread is known.
 */
export const LATENCY_FROM = ['server', 'payload', 'publisher', 'first receipt'] as const;
export type LatencyFrom = (typeof LATENCY_FROM)[number];

export const latencySchema = z.strictObject({
  from: z.enum(LATENCY_FROM).default('server'),
  oneWayMs: summary,
  localMs: summary,
  crossWorkerMs: summary,
  /** Latency of each broadcast's last receiver: the time to reach all. */
  completionMs: summary,
  /** By broadcasts, not by copies; null in results of versions that had none. */
  intervals: z.strictObject({ oneWayMs: intervals, completionMs: intervals }).nullable().default(null),
  /** The first broadcast, where it took far longer to reach everybody than the others. It is in all summaries. */
  slowFirst: z
    .strictObject({ seq: count, lastMs: z.number(), othersP50Ms: z.number(), othersMaxMs: z.number() })
    .nullable()
    .default(null),
  /** From all connections to a quarter of them, if there were broadcasts with fewer. */
  byConnections: z
    .array(
      z.strictObject({
        connections: count,
        broadcasts: count,
        expected: count,
        received: count,
        lost: count,
        oneWayMs: summary,
        completionMs: summary,
      }),
    )
    .default([]),
  sendDelayMs: summary,
  /** Of the reference receiver (`sentinel`), which does nothing else and which its worker serves last. */
  sentinelMs: summary.default(null),
  /** Per broadcast, how much later than the sentinel the p99 receiver of its worker was; 0 if it was not later. */
  behindSentinelMs: summary.default(null),
  roundTripHalfMs: z.strictObject({
    underLoad: summary,
    single: summary,
    /** All of them, in the order of sending. Missing in results of versions that kept only the summaries. */
    eachMs: z.strictObject({ underLoad: z.array(z.number()), single: z.array(z.number()) }).optional(),
    /** The worker that published each of them. */
    publishers: z.strictObject({ underLoad: z.array(z.string()), single: z.array(z.string()) }).optional(),
  }),
  /** How far each worker's clock is ahead of the generator's; 0 on the same host. Removed from the latencies. */
  clocks: z
    .array(
      z.strictObject({
        worker: z.string(),
        offsetUs: z.number(),
        /** Maximum error of the offset, at any of the broadcasts. */
        uncertaintyUs: z.number(),
        /** Change of the offset during the broadcasts; removed, too. */
        driftUs: z.number(),
        /** Sum of its jumps during the run, which nothing but a moved or suspended machine explains; removed, too. */
        jumpUs: z.number().default(0),
      }),
    )
    .default([]),
  /** Mergeable HDR encodings (compressed base64, microseconds). */
  histograms: z.record(z.string(), z.string()),
});
