/**
 * The result document, `results/<run id>/result.json`. Keys are never renamed: people script against them.
 * Layers are named after component and unit, e.g. `workerRss`, `nginxPss`, `redisUsedMemory`; `memory.layers` describes
 * them, and docs/method/memory.md#layers defines how each is measured.
 */
import { z } from 'zod';
import { connectionsSchema } from './connections.ts';
import { deliverySchema } from './delivery.ts';
import { latencySchema } from './latency.ts';
import { cpuSchema, generatorSchema, machineSchema, samplingSchema } from './machine.ts';
import { memorySchema } from './memory.ts';
import { messagesSchema } from './messages.ts';
import { count, reasonSchema } from './parts.ts';
import { serverSchema } from './server.ts';

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
  /** Sections of which this run can know nothing, and why. */
  absent: z
    .strictObject({
      /** Of the deployment, as is `cpu`. */
      memory: z.string().optional(),
      cpu: z.string().optional(),
      delivery: z.string().optional(),
      latency: z.string().optional(),
      roundTrip: z.string().optional(),
    })
    .default({}),
  connections: connectionsSchema,
  messages: messagesSchema,
  delivery: deliverySchema,
  latency: latencySchema,
  memory: memorySchema,
  cpu: cpuSchema,
  generator: generatorSchema,
  machine: machineSchema,
  sampling: samplingSchema,
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
