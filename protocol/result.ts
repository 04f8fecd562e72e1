/**
 * The result document, `results/<run id>/result.json`. Keys are never renamed: people script against them.
 * Layers name their unit of blame, e.g. `workerRss`, `nginxPss`, `redisUsedMemory`; `memory.layers` describes them, and
 * docs/method.md says how each is measured.
 */
import { z } from 'zod';

const count = z.number().int().nonnegative();
const layers = z.record(z.string(), z.number());

export const summarySchema = z.strictObject({
  count,
  min: z.number(),
  mean: z.number(),
  p50: z.number(),
  p90: z.number(),
  p95: z.number(),
  p99: z.number(),
  p999: z.number(),
  max: z.number(),
});
/** Null where nothing was measured: never a zero. */
const summary = summarySchema.nullable();

const reasonSchema = z.strictObject({ code: z.string(), message: z.string(), fix: z.string().optional() });

/** Of one broadcast, and of all together. */
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
};
export type ReceiptCount = keyof typeof receiptShape;
/** What adds up, over fleet processes and over broadcasts. */
export const RECEIPT_COUNTS = Object.keys(receiptShape) as ReceiptCount[];

export const batchSchema = z.strictObject({
  seq: count,
  /** Receivers by the server's own count, at the moment of sending. */
  serverMembers: count.nullable(),
  ...receiptShape,
  /** Actual less intended send time. */
  sendDelayMs: z.number(),
  firstMs: z.number().nullable(),
  p50Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
  lastMs: z.number().nullable(),
  /** By how much the earliest receipt came before the send; null without any. */
  earlyByMs: z.number().nullable().default(null),
});

const slopeSchema = z.strictObject({
  slope: z.number(),
  /** Null with fewer than three plateaus: two points say nothing of their error. */
  low95: z.number().nullable(),
  high95: z.number().nullable(),
  r2: z.number(),
  /** The Techracers study's figure: (peak − baseline) ÷ connections. */
  naive: z.number(),
});

const layerSchema = z.strictObject({
  /** Key of the memory figures (`workerRss`), or of `cpu` (`worker`). */
  id: z.string(),
  title: z.string(),
  /** `bytes` of memory, or `cpuSeconds`: the key is one of `cpu`. */
  unit: z.enum(['bytes', 'cpuSeconds']),
  /** `machine`: all that runs on the generator's, which may be the deployment's, too. */
  belongsTo: z.enum(['deployment', 'generator', 'machine']),
  /** Its bytes are in no other layer of the sum. */
  inSum: z.boolean(),
  /** Shown where there is room for a few layers only. */
  main: z.boolean(),
});

export const resultSchema = z.strictObject({
  schemaVersion: z.literal(1),
  run: z.strictObject({
    id: z.string(),
    scenario: z.string(),
    startedAt: z.string(),
    endedAt: z.string(),
    target: z.string(),
    /** `full` (nginx, PM2, Redis), `embedded` (workers with the in-memory adapter, no proxy) or `remote`. */
    profile: z.enum(['full', 'embedded', 'remote']),
    /** Artillery engine that drove the load. */
    engine: z.string(),
    /** False when the run ended early: what is here was measured until then. */
    complete: z.boolean(),
  }),
  verdict: z.strictObject({ status: z.enum(['VALID', 'SUSPECT', 'INVALID']), reasons: z.array(reasonSchema) }),
  connections: z.strictObject({
    target: count,
    peak: count,
    failed: count,
    failures: z.record(z.string(), count),
    /** Connections that virtual users tried to open. */
    asked: count.default(0),
    /** Of these, how many were open at some time. */
    opened: count.default(0),
    /** Alive when all broadcasts were through; null where nobody counted. */
    held: count.nullable().default(null),
    /** Opened, and ended by somebody else than their virtual users, by Socket.IO's reason. */
    lost: z.record(z.string(), count).default({}),
    retries: count,
    disconnects: z.record(z.string(), count),
    configuredRatePerSec: z.number().nullable(),
    achievedRatePerSec: z.number().nullable(),
    rampSeconds: z.number().nullable(),
    connectMs: summary,
    stagesMs: z.record(z.string(), summarySchema),
    perWorker: z.record(z.string(), count),
  }),
  /** Null when the engine keeps no ledger (Artillery's stock engines). */
  delivery: z
    .strictObject({
      payloadBytes: count,
      broadcasts: count,
      ...receiptShape,
      late: count,
      /** Frames that carry the broadcast event and whose payload cannot be read. */
      unreadable: count.default(0),
      /** Receipts of broadcasts that the run did not send. */
      neverOrdered: count.default(0),
      /** All frames that carry the broadcast event; null in results of versions that did not count them. */
      frames: count.nullable().default(null),
      /** received ÷ expected; null when nothing was expected. */
      coverage: z.number().nullable(),
      batches: z.array(batchSchema),
    })
    .nullable(),
  latency: z.strictObject({
    oneWayMs: summary,
    localMs: summary,
    crossWorkerMs: summary,
    /** Per broadcast, the last receiver: the time to reach everybody. */
    completionMs: summary,
    sendDelayMs: summary,
    /** Of one receiver with nothing else to do, whom its worker serves last. */
    sentinelMs: summary.default(null),
    /** Per broadcast, by how much the p99 receiver of the sentinel's worker came after it; 0 where it did not. */
    behindSentinelMs: summary.default(null),
    roundTripHalfMs: z.strictObject({
      underLoad: summary,
      single: summary,
      /** Every one, in the order they were sent. Missing in results of versions that kept the summaries only. */
      eachMs: z.strictObject({ underLoad: z.array(z.number()), single: z.array(z.number()) }).optional(),
    }),
    /** How far each worker's clock is ahead of the generator's; all zero where they are one. Taken out of the latencies. */
    clocks: z
      .array(
        z.strictObject({
          worker: z.string(),
          offsetUs: z.number(),
          /** The most by which the offset may be wrong. */
          uncertaintyUs: z.number(),
          /** How far the clocks went apart during the broadcasts; taken out, too. */
          driftUs: z.number(),
        }),
      )
      .default([]),
    /** Mergeable HDR encodings (compressed base64, microseconds). */
    histograms: z.record(z.string(), z.string()),
  }),
  memory: z.strictObject({
    /** What the layers are, in the order of tables. Empty in results of versions that did not describe them. */
    layers: z.array(layerSchema).default([]),
    perConnectionBytes: z.record(z.string(), slopeSchema),
    /** The layers' slopes beside the whole machine's; null where one of them is not known. */
    sum: z
      .strictObject({
        /** Layers that are added up. */
        parts: z.array(z.string()),
        partsPerConnectionBytes: z.number(),
        /** Slope of `systemHeld`, and its interval. */
        systemPerConnectionBytes: z.number(),
        systemLow95: z.number().nullable(),
        systemHigh95: z.number().nullable(),
        unexplainedPerConnectionBytes: z.number(),
        /** Of what the machine has lost; null when it lost nothing. */
        unexplainedShare: z.number().nullable(),
      })
      .nullable()
      .default(null),
    peakBytes: layers,
    residualBytes: layers,
    /** At full target, collected, when all broadcasts were through. */
    afterBroadcastsBytes: layers,
    plateaus: z.array(z.object({ connections: count }).catchall(z.number())),
    /** Layers that this system cannot tell, and why. */
    absent: z.record(z.string(), z.string()),
  }),
  cpu: z.record(
    z.string(),
    z.strictObject({
      rampSecondsPerThousandConnects: z.number().nullable(),
      idlePercent: z.number().nullable(),
      broadcastMicrosecondsPerMessage: z.number().nullable(),
    }),
  ),
  /** Event loops of the load generator while it ramped and while it received; empty for stock engines. */
  generator: z.array(
    z.strictObject({
      window: z.enum(['ramp', 'broadcasts']),
      part: z.enum(['fleet', 'artillery']),
      /** Of the loops of its window and part, over all engines. */
      index: count,
      /** Artillery's id of the worker whose loop, or whose fleet's, it is. */
      engine: z.string().default(''),
      utilization: z.number(),
      delayP50Ms: z.number(),
      delayP99Ms: z.number(),
      delayMaxMs: z.number(),
      /** Of the time that its thread wanted to run, the share in which it waited for a CPU. */
      cpuWaitShare: z.number().nullable().default(null),
    }),
  ),
  /** The generator's machine, which is the deployment's too where they share one. */
  machine: z
    .strictObject({
      cpuIdlePercent: z.strictObject({ ramp: z.number().nullable(), broadcasts: z.number().nullable() }),
      swappedInBytes: count.nullable(),
      swappedOutBytes: count.nullable(),
    })
    .nullable()
    .default(null),
  /** How complete the time series below is. */
  sampling: z
    .strictObject({
      intervalMs: z.number(),
      taken: count,
      missed: count,
      longestGapMs: z.number(),
      /** Readings that a source could not give. */
      failures: z.record(z.string(), count),
    })
    .nullable()
    .default(null),
  /** Artillery's `ensure`: what was expected of the metrics, and whether it was so. Empty where it evaluated nothing. */
  thresholds: z
    .array(
      z.strictObject({
        expression: z.string(),
        met: z.boolean(),
        /** A missed one that is not strict leaves the exit code alone. */
        strict: z.boolean(),
      }),
    )
    .default([]),
  capacity: z.strictObject({
    /** The published benchmark report's rule: 2 GiB × N ÷ peak worker memory. */
    seedTheoreticalMax: count.nullable(),
    memoryLimited: z
      .strictObject({
        budgetBytes: z.number(),
        connections: count,
        /** Null where the measurements do not bound it. */
        low95: count.nullable(),
        high95: count.nullable(),
      })
      .nullable(),
    limits: z.array(z.strictObject({ name: z.string(), max: count })),
    lowest: z.string().nullable(),
  }),
  /** What the run was doing, on the time of the samples; each lasts until the next. */
  stages: z.array(z.strictObject({ name: z.string(), t: z.number() })).default([]),
  samples: z.array(z.object({ t: z.number(), connections: count }).catchall(z.unknown())),
  environment: z.strictObject({
    versions: z.record(z.string(), z.string()),
    kernel: z.string(),
    cpu: z.string(),
    cpuCount: count,
    memoryBytes: count,
    limits: z.record(z.string(), z.number()),
    sysctls: z.record(z.string(), z.string()),
    /** SHA-256 of the settings below. */
    configHash: z.string(),
    settings: z.record(z.string(), z.unknown()),
    gitCommit: z.string().nullable(),
  }),
});

export type Result = z.infer<typeof resultSchema>;
export type Summary = z.infer<typeof summarySchema>;
export type Batch = z.infer<typeof batchSchema>;
export type Slope = z.infer<typeof slopeSchema>;
export type LayerDescription = z.infer<typeof layerSchema>;
