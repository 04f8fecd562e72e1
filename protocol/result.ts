/**
 * The result document, `results/<run id>/result.json`. Keys are never renamed: people script against them.
 * Layers are named after component and unit, e.g. `workerRss`, `nginxPss`, `redisUsedMemory`; `memory.layers` describes
 * them, and docs/method/memory.md#layers defines how each is measured.
 */
import { z } from 'zod';

const count = z.number().int().nonnegative();
const layers = z.record(z.string(), z.number());

const summarySchema = z.strictObject({
  count,
  min: z.number(),
  mean: z.number(),
  p50: z.number(),
  /** Of few broadcasts, a percentile is the slowest one by another name: null then. */
  p90: z.number().nullable(),
  p95: z.number().nullable(),
  p99: z.number().nullable(),
  p999: z.number().nullable(),
  max: z.number(),
});
/** Null if nothing was measured, never zero. */
const summary = summarySchema.nullable();

/** 95 %; null where too little is known of the noise. */
const interval = z.strictObject({ low95: z.number(), high95: z.number() }).nullable();
const intervals = z.strictObject({ p50: interval, p99: interval });

const reasonSchema = z.strictObject({ code: z.string(), message: z.string(), fix: z.string().optional() });

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
};
export type ReceiptCount = keyof typeof receiptShape;
/** The counts that add up over fleet processes and broadcasts. */
export const RECEIPT_COUNTS = Object.keys(receiptShape) as ReceiptCount[];

const batchSchema = z.strictObject({
  seq: count,
  /** Members of the room as counted by the server when it sent. */
  serverMembers: count.nullable(),
  ...receiptShape,
  /** Actual minus intended send time. */
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
  /** Null with fewer than three plateaus: two points give no estimate of the error. */
  low95: z.number().nullable(),
  high95: z.number().nullable(),
  r2: z.number(),
  /** The Techracers study's figure: (peak − baseline) ÷ connections. */
  naive: z.number(),
  /** Why the slope is not to be quoted; missing where it may be. */
  doubt: z.enum(['fewPlateaus', 'noRise', 'curved', 'grows', 'wide']).optional(),
});

const layerSchema = z.strictObject({
  /** Key of the memory figures (`workerRss`), or of `cpu` (`worker`). */
  id: z.string(),
  title: z.string(),
  /** `bytes` of memory, or `cpuSeconds`: the key is one of `cpu`. */
  unit: z.enum(['bytes', 'cpuSeconds']),
  /** `machine`: everything that runs on the generator's machine, which can be the deployment's, too. */
  belongsTo: z.enum(['deployment', 'generator', 'machine']),
  /** Whether its bytes are part of the sum; no other layer of the sum contains them. */
  inSum: z.boolean(),
  /** Whether it is shown where there is room for few layers. */
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
    /** False if the run ended early: the document has what was measured until then. */
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
    /** How many of these were open at some time. */
    opened: count.default(0),
    /** Open after all broadcasts; null where virtual users come and go, or nobody counts. */
    held: count.nullable().default(null),
    /** Opened, and ended other than by their virtual users, by Socket.IO's reason. */
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
  /** Null if the engine keeps no ledger (external engines). */
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
      /** received ÷ (all that should be there × broadcasts); null where virtual users come and go. */
      coverageOfTarget: z.number().nullable().default(null),
      batches: z.array(batchSchema),
    })
    .nullable(),
  latency: z.strictObject({
    oneWayMs: summary,
    localMs: summary,
    crossWorkerMs: summary,
    /** Latency of each broadcast's last receiver: the time to reach all. */
    completionMs: summary,
    /** From resampling whole broadcasts; null in results of versions that had none. */
    intervals: z.strictObject({ oneWayMs: intervals, completionMs: intervals }).nullable().default(null),
    /** The first broadcast, where it took far longer to reach everybody than the others. It is in all summaries. */
    slowFirst: z
      .strictObject({ seq: count, lastMs: z.number(), othersP50Ms: z.number(), othersMaxMs: z.number() })
      .nullable()
      .default(null),
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
    }),
    /** How far each worker's clock is ahead of the generator's; 0 on the same host. Removed from the latencies. */
    clocks: z
      .array(
        z.strictObject({
          worker: z.string(),
          offsetUs: z.number(),
          /** Maximum error of the offset. */
          uncertaintyUs: z.number(),
          /** Change of the offset during the broadcasts; removed, too. */
          driftUs: z.number(),
        }),
      )
      .default([]),
    /** Mergeable HDR encodings (compressed base64, microseconds). */
    histograms: z.record(z.string(), z.string()),
  }),
  memory: z.strictObject({
    /** Describes the layers, in the order of tables. Empty in results of versions that did not describe them. */
    layers: z.array(layerSchema).default([]),
    /** At rest: after a collection. */
    perConnectionBytes: z.record(z.string(), slopeSchema),
    /** What the workers need while they work, garbage and buffers included; null where it was not read. */
    inService: z
      .strictObject({
        /** Of the readings before the collections, or the share of `peakBytes` in proportion to the connections if more. */
        perConnectionBytes: z.record(z.string(), slopeSchema.omit({ naive: true })),
        /** Highest while the full target was held and broadcast to. */
        peakBytes: layers,
        /** Just before the collection at each plateau. */
        plateaus: z.array(z.object({ connections: count }).catchall(z.number())),
      })
      .nullable()
      .default(null),
    /** The sum of the layers' slopes, compared with that of the whole machine; null if one of them is unknown. */
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
        /** Share of the machine's slope; null if that is not positive. */
        unexplainedShare: z.number().nullable(),
      })
      .nullable()
      .default(null),
    peakBytes: layers,
    /** Layers whose peak is PSS that was derived from RSS, between two readings of PSS. */
    derivedPeaks: z.array(z.string()).default([]),
    residualBytes: layers,
    /** At full target, after all broadcasts and a garbage collection. */
    afterBroadcastsBytes: layers,
    plateaus: z.array(z.object({ connections: count }).catchall(z.number())),
    /** Layers that cannot be read on this system, and why. */
    absent: z.record(z.string(), z.string()),
  }),
  cpu: z.record(
    z.string(),
    z.strictObject({
      rampSecondsPerThousandConnects: z.number().nullable(),
      idlePercent: z.number().nullable(),
      broadcastMicrosecondsPerMessage: z.number().nullable(),
      /** Of the figures above; null where nothing is known of the noise, and with a figure that the noise exceeds. */
      intervals: z
        .strictObject({
          rampSecondsPerThousandConnects: interval,
          idlePercent: interval,
          broadcastMicrosecondsPerMessage: interval,
        })
        .nullable()
        .default(null),
    }),
  ),
  /** Event loops of the load generator during the ramps and the broadcasts; empty with external engines. */
  generator: z.array(
    z.strictObject({
      window: z.enum(['ramp', 'broadcasts']),
      part: z.enum(['fleet', 'artillery']),
      /** Index within its window and part, over all engines. */
      index: count,
      /** Artillery's id of the worker that the loop, or its fleet, belongs to. */
      engine: z.string().default(''),
      utilization: z.number(),
      delayP50Ms: z.number(),
      delayP99Ms: z.number(),
      delayMaxMs: z.number(),
      /** Of the time that its thread was runnable, the share in which it waited for a CPU. */
      cpuWaitShare: z.number().nullable().default(null),
    }),
  ),
  /** The generator's machine, which can be the deployment's, too. */
  machine: z
    .strictObject({
      /** `ramp` is the ramp in which least was idle. */
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
      /** Failed readings, by source. */
      failures: z.record(z.string(), count),
    })
    .nullable()
    .default(null),
  /** Artillery's `ensure`: its expectations, and whether the metrics met them. Empty if it evaluated none. */
  thresholds: z
    .array(
      z.strictObject({
        expression: z.string(),
        met: z.boolean(),
        /** If false, missing it does not change the exit code. */
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
        /** Memory that the line is of; results of older versions have it at rest. */
        basis: z.enum(['inService', 'atRest']).default('atRest'),
        connections: count,
        /** Null if the measurements give no bound. */
        low95: count.nullable(),
        high95: count.nullable(),
      })
      .nullable(),
    limits: z.array(z.strictObject({ name: z.string(), max: count })),
    lowest: z.string().nullable(),
  }),
  /** Stages of the run, on the time axis of the samples; each lasts until the next. */
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
export type Interval = z.infer<typeof interval>;
export type Summary = z.infer<typeof summarySchema>;
export type Batch = z.infer<typeof batchSchema>;
export type Slope = z.infer<typeof slopeSchema>;
export type LayerDescription = z.infer<typeof layerSchema>;
