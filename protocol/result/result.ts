/**
 * Schema of the result document, `results/<run id>/result.json`. Keys are never renamed, because scripts use them.
 * Names of layers consist of component and unit, such as `workerRss`, `nginxPss`, `redisUsedMemory`. `memory.layers`
 * describes the layers, and docs/method/memory.md#layers defines how they are measured.
 */
import { z } from 'zod';
import { answerSchema, runOutcomeSchema } from './answer-schema.ts';
import { connectionsSchema, functionsSchema, httpSchema, otherUsersSchema } from './connections-schema.ts';
import { deliverySchema, eventCountsResultSchema } from './delivery-schema.ts';
import { faultResultSchema } from './fault-schema.ts';
import { describeFigure } from './figure.ts';
import { findingSchema } from './findings.ts';
import { latencySchema } from './latency-schema.ts';
import { cpuSchema, generatorSchema, generatorsSchema, machineSchema, samplingSchema } from './machine-schema.ts';
import { memorySchema } from './memory-schema.ts';
import { messagesSchema } from './messages-schema.ts';
import { cpuByCodePlaceSchema } from './places-schema.ts';
import { redisSchema } from './redis-schema.ts';
import { sampleSchema } from './samples.ts';
import {
  processesSchema,
  serverSchema,
  workerMachinesSchema,
  workersOverTimeSchema,
  workersSchema,
} from './server-schema.ts';
import {
  listOfObjects,
  objectSchemaOrNull,
  recordOf,
  resultCount,
  schemaOrNull,
  secondsSchema,
  strictObject,
} from './shared-schemas.ts';

export const resultSchema = strictObject({
  schemaVersion: z.literal(4),
  run: strictObject({
    id: z.string().describe('the folder’s name'),
    scenario: z.string().describe('the scenario’s name'),
    file: z.string().optional().describe('its file, as in the command'),
    startedAt: z.string().describe('ISO 8601, UTC'),
    endedAt: z.string().describe('ISO 8601, UTC'),
    target: z.string().describe('URL'),
    profile: z.enum(['full', 'embedded', 'remote']).describe('bundled stack, one worker alone, or your own server'),
    missing: z.array(z.string()).describe('programs whose absence made the profile `embedded`'),
    engine: z.string().describe('Artillery engine'),
    complete: z.boolean().describe('false: it ended early'),
  }),
  answer: answerSchema.describe('What reports show first.'),
  outcome: runOutcomeSchema.describe(
    'Whether the deployment met its [expectations and thresholds](../method.md#verdict).',
  ),
  verdict: strictObject({
    status: z.enum(['VALID', 'SUSPECT', 'INVALID']).describe('whether to use the figures'),
  }).describe('Whether the [measurement can be trusted](../method.md#verdict).'),
  findings: z
    .array(findingSchema)
    .describe('Causes before their consequences; verdict, outcome and answer follow from them.'),
  absent: strictObject({
    memory: z.string().optional().describe('memory of the deployment'),
    cpu: z.string().optional().describe('CPU of the deployment'),
    delivery: z.string().optional().describe('`delivery` is null'),
    latency: z.string().optional().describe('one-way latency'),
    roundTrip: z.string().optional().describe('round trips of the probe'),
    crossWorker: z.string().optional().describe('latency by worker'),
  }).describe('Why this run lacks figures.'),
  connections: connectionsSchema.describe('Counts of connections; see [Method](../method.md#connections).'),
  fault: faultResultSchema.describe('Effect of a planned fault; times count from it. Null without one.'),
  http: httpSchema,
  otherUsers: otherUsersSchema,
  functions: functionsSchema,
  messages: messagesSchema.describe('Messages of the step `every`. Null without it.'),
  delivery: deliverySchema.describe('[Who received what](../method/delivery.md). Null if not measured.'),
  eventCounts: eventCountsResultSchema,
  latency: latencySchema.describe('[Latency](../method/latency.md) of broadcasts.'),
  memory: memorySchema.describe('[Memory](../method/memory.md) by layer.'),
  cpu: cpuSchema.describe(
    'By layer, for each [window](../method.md#cpu); 100 % is one core. Null: not larger than its noise.',
  ),
  cpuByPlace: cpuByCodePlaceSchema.optional().describe('CPU by package and function (`workers.profile`).'),
  processes: processesSchema.describe('The [measured processes](../method/memory.md#which-processes) on this machine.'),
  redis: redisSchema.describe('The adapter’s Redis during the broadcasts. Null without it.'),
  generator: generatorSchema.describe('The generator’s event loops, by window.'),
  generators: generatorsSchema.describe('The generator’s hosts, if there are [several](../guide/several-hosts.md).'),
  machine: machineSchema.describe('The generator’s machine; of several, the busiest.'),
  workers: workersSchema.describe('The workers’ limits. Empty without control ports.'),
  workerMachines: workerMachinesSchema.describe('Their machines, each once.'),
  sampling: samplingSchema.describe('Completeness of `samples`.'),
  thresholds: listOfObjects({
    expression: z.string().describe('as printed on the console'),
    met: z.boolean().describe('whether it was met'),
    strict: z.boolean().describe('false: missing it does not change the exit code'),
    unknown: z.array(z.string()).optional().describe('metrics in it that the run does not have'),
    found: listOfObjects({ metric: z.string(), value: z.number(), unit: z.string() })
      .optional()
      .describe('metrics in it, with their values'),
  }).describe('Artillery’s `ensure` on [metrics](./metrics.md).'),
  capacity: strictObject({
    memoryLimited: strictObject({
      budgetBytes: z.number().describe('memory budget of the workers'),
      connections: resultCount.describe('connections at which the fitted memory reaches the budget'),
    })
      .nullable()
      .describe('connections that fit into `memoryBudgetBytes`'),
    pings: objectSchemaOrNull({
      intervalMs: z.number().describe('from one ping of a connection to the next'),
      connections: describeFigure(resultCount, 'connections whose pings use all allowed cores', {
        ...{ quantity: 'count', noun: 'connections', answers: ['cpu'] },
      }),
      low95: resultCount.describe('lower end of its 95 % interval'),
      high95: resultCount.describe('upper end'),
    }).describe('the CPU limit of idle connections'),
    limits: listOfObjects({
      name: z.string().describe('such as `machineMemory`, `workerFileDescriptors` or `pings`'),
      max: resultCount.describe('connections'),
    }).describe('known limits, the lowest first'),
    unknown: listOfObjects({ name: z.string(), why: z.string() }).describe('unknown limits, and why'),
    lowest: z.string().nullable().describe('null if an unknown one could be lower'),
  }).describe('How many connections each [limit](../method.md#capacity) allows.'),
  stages: listOfObjects({
    name: z.string().describe('such as `ramp`, `plateau` or `broadcasts`'),
    t: secondsSchema,
  }).describe('Each lasts until the next one.'),
  samples: z
    .array(sampleSchema)
    .max(5000)
    .describe(
      'One row per second for the last half hour, and for 2, 4, 8 … seconds before it: highest memory, most connections, mean CPU of each layer (`worker.rssBytes`, `system.cpuPercent`), of other programs (`others.cpuPercent`) and the hypervisor (`steal.cpuPercent`).',
    ),
  workersOverTime: workersOverTimeSchema.describe('By worker, at most 200 values each.'),
  environment: strictObject({
    versions: recordOf(z.string()).describe('of Artillery, Node, Socket.IO, adapter, WebSocket engine'),
    server: schemaOrNull(serverSchema).describe('the measured server'),
    kernel: z.string().describe('of the generator’s machine, as the following'),
    cpu: z.string().describe('CPU model'),
    cpuCount: resultCount.describe('cores'),
    memoryBytes: resultCount.describe('total memory'),
    limits: recordOf(z.number()).describe('open files, also of the server, and the container’s limits'),
    sysctls: recordOf(z.string()).describe('kernel settings for network and files'),
    configHash: z.string().describe('SHA-256 of the settings'),
    settings: recordOf(z.unknown()).describe('of scenario and environment, with secrets masked'),
    gitCommit: z.string().nullable().describe('commit of the working folder'),
  }),
});

export type Result = z.infer<typeof resultSchema>;
