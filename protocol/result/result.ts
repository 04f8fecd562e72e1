/**
 * The result document, `results/<run id>/result.json`. Keys are never renamed: people script against them.
 * Layers are named after component and unit, e.g. `workerRss`, `nginxPss`, `redisUsedMemory`; `memory.layers` describes
 * them, and docs/method/memory.md#layers defines how each is measured.
 */
import { z } from 'zod';
import { connectionsSchema } from './connections.ts';
import { deliverySchema } from './delivery.ts';
import { faultSchema } from './fault.ts';
import { generatorsSchema } from './generators.ts';
import { latencySchema } from './latency.ts';
import { cpuSchema, generatorSchema, machineSchema, samplingSchema } from './machine.ts';
import { memorySchema } from './memory.ts';
import { messagesSchema } from './messages.ts';
import { outcomeSchema } from './outcome.ts';
import { count, reasonSchema } from './parts.ts';
import { redisSchema } from './redis.ts';
import { serverSchema } from './server.ts';
import { workerMachinesSchema, workersSchema } from './workers.ts';
import { workersOverTimeSchema } from './workers-over-time.ts';

export const resultSchema = z.strictObject({
  schemaVersion: z.literal(2),
  run: z.strictObject({
    id: z.string(),
    scenario: z.string(),
    /** The scenario's file as the command named it, without the folders of an absolute path; results of older versions have none. */
    file: z.string().optional(),
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
  /** What the run showed: whether the deployment did what was asked of it. */
  outcome: outcomeSchema.default(null),
  /** Whether the measurement can be trusted. */
  verdict: z.strictObject({ status: z.enum(['VALID', 'SUSPECT', 'INVALID']), reasons: z.array(reasonSchema) }),
  /** Sections of which this run can know nothing, and why. */
  absent: z
    .strictObject({
      /** Of the deployment, as is `cpu`. */
      memory: z.string().optional(),
      cpu: z.string().optional(),
      delivery: z.string().optional(),
      latency: z.string().optional(),
      roundTrip: z.string().optional(),
      /** Of latency: on the publisher's worker, and across workers. */
      crossWorker: z.string().optional(),
    })
    .default({}),
  connections: connectionsSchema,
  /** Null if the scenario plans none. */
  fault: faultSchema.default(null),
  messages: messagesSchema,
  delivery: deliverySchema,
  latency: latencySchema,
  memory: memorySchema,
  cpu: cpuSchema,
  redis: redisSchema.default(null),
  generator: generatorSchema,
  generators: generatorsSchema,
  machine: machineSchema,
  workers: workersSchema,
  /** Each counted once, however many workers run on it. */
  workerMachines: workerMachinesSchema,
  sampling: samplingSchema,
  /** Artillery's `ensure`: its expectations, and whether the metrics met them. Empty if it evaluated none. */
  thresholds: z
    .array(
      z.strictObject({
        expression: z.string(),
        met: z.boolean(),
        /** If false, missing it does not change the exit code. */
        strict: z.boolean(),
        /** Metrics in it that the run does not have; missing if it has all. */
        unknown: z.array(z.string()).optional(),
        /** Metrics in it, and their values; missing in results of versions that did not keep them. */
        found: z.array(z.strictObject({ metric: z.string(), value: z.number(), unit: z.string() })).optional(),
      }),
    )
    .default([]),
  capacity: z.strictObject({
    /** Of older versions: the published benchmark report's rule, 2 GiB × N ÷ peak worker memory. */
    seedTheoreticalMax: count.nullable().optional(),
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
    /** Connections whose pings alone take all cores of the machine; null where their cost is not known above its noise. */
    pings: z
      .strictObject({
        /** From one ping of a connection to the next. */
        intervalMs: z.number(),
        /** Of the deployment, for 1,000 idle connections. */
        coresPerThousand: z.number(),
        connections: count,
        low95: count,
        high95: count,
      })
      .nullable()
      .default(null),
    limits: z.array(z.strictObject({ name: z.string(), max: count })),
    /** Limits that this run does not know, and why. */
    unknown: z.array(z.strictObject({ name: z.string(), why: z.string() })).default([]),
    /** Null where one of the above could be lower. */
    lowest: z.string().nullable(),
  }),
  /** Stages of the run, on the time axis of the samples; each lasts until the next. */
  stages: z.array(z.strictObject({ name: z.string(), t: z.number() })).default([]),
  samples: z.array(z.object({ t: z.number(), connections: count }).catchall(z.unknown())),
  workersOverTime: workersOverTimeSchema,
  environment: z.strictObject({
    versions: z.record(z.string(), z.string()),
    /** Null where a worker does not describe itself, as in older versions. */
    server: serverSchema.nullable().default(null),
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
