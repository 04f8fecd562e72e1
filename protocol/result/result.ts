/**
 * The result document, `results/<run id>/result.json`. Keys are never renamed: people script against them.
 * Layers are named after component and unit, e.g. `workerRss`, `nginxPss`, `redisUsedMemory`; `memory.layers` describes
 * them, and docs/method/memory.md#layers defines how each is measured.
 */
import { z } from 'zod';
import { answerSchema } from './answer.ts';
import { connectionsSchema } from './connections.ts';
import { deliverySchema } from './delivery.ts';
import { faultSchema } from './fault.ts';
import { figure } from './figure.ts';
import { findingSchema } from './findings.ts';
import { latencySchema } from './latency.ts';
import {
  cpuSchema,
  generatorSchema,
  machineSchema,
  samplingSchema,
  windowPercents,
  windowSharesSchema,
} from './machine.ts';
import { memorySchema } from './memory.ts';
import { messagesSchema } from './messages.ts';
import { outcomeSchema } from './outcome.ts';
import { byName, count, object, objectOrNull, orNull, rowsOf, summary, time } from './parts.ts';
import { processesSchema } from './processes.ts';
import { sampleSchema } from './samples.ts';
import { serverSchema } from './server.ts';
import { workerMachinesSchema, workersOverTimeSchema, workersSchema } from './workers.ts';

const perCopy = { quantity: 'bytes', answers: ['delivery'], compared: 'secondary' } as const;

/** One node of a Redis Cluster during the broadcasts; keys as those of all nodes together. */
const nodeSchema = object({
  node: z.string().describe('`host:port`'),
  inBytes: count.describe('received for the broadcasts'),
  outBytes: count.describe('sent for them'),
  usedMemoryBytes: count.describe('`used_memory` after the broadcasts'),
  rssBytes: count.describe('RSS after the broadcasts'),
  channels: count.describe('channels with subscribers'),
  shardChannels: count.nullable().describe('sharded channels with subscribers; null before Redis 7.0'),
});

const redisSchema = object({
  version: z.string().describe('the Redis server’s'),
  inBytes: count.describe('received for the broadcasts'),
  outBytes: count.describe('sent for them'),
  inBytesPerCopy: figure(z.number().nullable(), '`inBytes` ÷ `delivery.received`', {
    ...{ ...perCopy, title: 'Redis received per message' },
  }),
  outBytesPerCopy: figure(z.number().nullable(), '`outBytes` ÷ `delivery.received`', {
    ...{ ...perCopy, title: 'Redis sent per message' },
  }),
  cpuMicrosecondsPerCopy: figure(
    orNull(z.number()),
    'its CPU ÷ `delivery.received`, less the idle share; null without `hold`',
    { title: 'Redis CPU per message', quantity: 'microseconds', answers: ['cpu'], compared: 'secondary' },
  ),
  usedMemoryBeforeBytes: orNull(count).describe('`used_memory` just before the broadcasts'),
  usedMemoryBytes: figure(orNull(count), '`used_memory` after the broadcasts', {
    ...{ title: 'Redis memory', quantity: 'megabytes', answers: ['memory'], compared: 'secondary', follows: 'load' },
  }),
  rssBytes: orNull(count).describe('RSS after the broadcasts'),
  outputBufferPeakBytes: orNull(count).describe('most output that waited for subscribers'),
  streamEntries: orNull(count).describe('length of the adapter’s stream; null if it has none'),
  channels: count.describe('channels with subscribers'),
  shardChannels: count.nullable().describe('sharded channels with subscribers; null before Redis 7.0'),
  forNobody: count.nullable().describe('broadcasts without members on other workers than the publisher’s'),
  nodes: orNull(z.array(nodeSchema)).describe('nodes of a Redis Cluster, of which the other figures are sums'),
  busiestNodeShare: orNull(z.number()).describe('highest share of `outBytes` that one node sent'),
}).nullable();

const generatorsSchema = rowsOf({
  host: z.string().describe('its name, and its index if it has one'),
  cores: count.describe('CPU cores that it may use'),
  memoryLimitBytes: z.number().nullable().describe('its container’s limit; null without one'),
  machine: object({
    model: z.string().describe('of its CPU'),
    system: z.string().describe('with its release'),
    cores: count.describe('all of them'),
    memoryBytes: z.number().describe('total memory'),
  }),
  share: z.number().describe('share of the scenario’s arrivals, 0 to 1'),
  arrivals: count.describe('virtual users of its share'),
  connections: count.describe('connections that it opened'),
  held: count.describe('open after all broadcasts'),
  failed: count.describe('connections that it could not open'),
  cpu: object({
    idlePercent: windowPercents.describe('idle CPU, as `machine.cpuIdlePercent`'),
  }),
  others: windowSharesSchema.describe('who used its CPUs, as `machine.others`'),
  loops: object({ delayP99Ms: z.number(), delayMaxMs: z.number(), utilization: z.number() })
    .nullable()
    .describe('the worst of its event loops, as in `generator`'),
  // Those of the first of its engines.
  startSkewMs: z.number().nullable().describe('how much later than on the first host its arrivals began'),
  oneWayMs: summary.describe('latency of the receipts on this host; null for an own event'),
  clock: object({
    offsetMs: z.number().describe('how far the conductor’s clock is ahead of its own'),
    boundMs: z.number().describe('largest possible error of that'),
  }).nullable(),
  lost: z.string().nullable().describe('why it was gone before the end; null if it was not'),
});

export const resultSchema = object({
  schemaVersion: z.literal(3),
  run: object({
    id: z.string().describe('start time and scenario; the folder’s name'),
    scenario: z.string().describe('the scenario file’s name, without its extension'),
    file: z.string().optional().describe('that file as the command named it'),
    startedAt: z.string().describe('ISO 8601, UTC'),
    endedAt: z.string().describe('ISO 8601, UTC'),
    target: z.string().describe('URL'),
    profile: z
      .enum(['full', 'embedded', 'remote'])
      .describe('a stack with nginx, PM2 and Redis; one worker alone; or your own server'),
    missing: z
      .array(z.string())
      .describe('programs that are not installed, which is why the profile is `embedded`; empty if it was chosen'),
    engine: z.string().describe('Artillery engine that drove the load'),
    complete: z.boolean().describe('false if the run ended early'),
  }),
  answer: answerSchema.describe('What every report says first.'),
  outcome: outcomeSchema.describe('Whether the deployment did [what was asked of it](../method/verdict.md).'),
  verdict: object({
    status: z.enum(['VALID', 'SUSPECT', 'INVALID']).describe('whether the figures can be used'),
  }).describe('Whether the [measurement can be trusted](../method/verdict.md).'),
  findings: z
    .array(findingSchema)
    .describe(
      'What the run established, causes before their consequences. Verdict, outcome and answer follow from it.',
    ),
  absent: object({
    memory: z.string().optional().describe('the deployment’s memory; the generator’s own is read'),
    cpu: z.string().optional().describe('the deployment’s CPU'),
    delivery: z.string().optional().describe('`delivery` is null'),
    latency: z.string().optional().describe('one-way latency of broadcasts'),
    roundTrip: z.string().optional().describe('the probe’s round trips'),
    crossWorker: z.string().optional().describe('latency on the publisher’s worker, and across workers'),
  }).describe(
    'Figures that this run cannot know, each with the reason, such as “that takes the option `delivery`, or `instrument(io)`”. The others are not affected.',
  ),
  connections: connectionsSchema.describe('[Method](../method/delivery.md) defines the figures.'),
  fault: faultSchema.describe('What a planned fault cost; its times count from it. Null if the scenario plans none.'),
  messages: messagesSchema.describe(
    'What connections send by the step `every`. Null where the flows have no such step.',
  ),
  delivery: deliverySchema.describe(
    '[Who received what](../method/delivery.md). Null if not measured: `absent.delivery` has the reason.',
  ),
  latency: latencySchema.describe('[Latency](../method/latency.md) of broadcasts.'),
  memory: memorySchema.describe('[Memory](../method/memory.md) by layer.'),
  cpu: cpuSchema.describe('By layer; 100 % is one core. A figure that is not larger than its noise is null.'),
  processes: processesSchema.describe(
    'The [processes](../method/memory.md#which-processes) of this machine whose memory and CPU the figures are.',
  ),
  redis: redisSchema.describe(
    'The adapter’s Redis during the broadcasts, without the run’s own requests. Null without Redis or broadcasts.',
  ),
  generator: generatorSchema.describe(
    'Event loops of the load generator, each in each window. Empty with other engines.',
  ),
  generators: generatorsSchema.describe(
    'The hosts that brought the load, if [several](../guide/several-hosts.md) did.',
  ),
  machine: machineSchema.describe('The generator’s machine; of several, the one with the least idle CPU.'),
  workers: workersSchema.describe(
    'The workers’ limits, by the control request `resources`. Empty without control ports.',
  ),
  workerMachines: workerMachinesSchema.describe('The machines of these workers, each once.'),
  sampling: samplingSchema.describe('How complete `samples` is.'),
  thresholds: rowsOf({
    expression: z.string().describe('as printed on the console'),
    met: z.boolean().describe('whether it was met'),
    strict: z.boolean().describe('false: missing it does not change the exit code'),
    unknown: z.array(z.string()).optional().describe('metrics in it that the run does not have'),
    found: rowsOf({ metric: z.string(), value: z.number(), unit: z.string() })
      .optional()
      .describe('metrics in it, and what was found'),
  }).describe('Artillery’s `ensure` on the [metrics](./metrics.md). Empty if it evaluated none.'),
  capacity: object({
    memoryLimited: object({
      budgetBytes: z.number().describe('memory budget of the workers'),
      connections: count.describe('where the line reaches the budget'),
    })
      .nullable()
      .describe('connections that the option `memoryBudgetBytes` is enough for'),
    pings: objectOrNull({
      intervalMs: z.number().describe('from one ping of a connection to the next'),
      connections: figure(count, 'connections that take all cores that may be used', {
        ...{ quantity: 'count', noun: 'connections', answers: ['cpu'] },
      }),
      low95: count.describe('lower end of its 95 % interval'),
      high95: count.describe('upper end'),
    }).describe('the CPU limit of idle connections'),
    limits: rowsOf({
      name: z.string().describe('such as `machineMemory`, `workerFileDescriptors` or `pings`'),
      max: count.describe('connections'),
    }).describe('limits that the run knows, the lowest first'),
    unknown: rowsOf({ name: z.string(), why: z.string() }).describe('limits that this run does not know, and why'),
    lowest: z
      .string()
      .nullable()
      .describe('name of the lowest limit; null if one that the run does not know could be lower'),
  }),
  stages: rowsOf({ name: z.string().describe('such as `ramp`, `plateau` or `broadcasts`'), t: time }).describe(
    'Stages of the run. Each lasts until the next one.',
  ),
  samples: z
    .array(sampleSchema)
    .max(5000)
    .describe(
      'One row per second for the last half hour, and for 2, 4, 8 … seconds before it: highest memory, most connections, mean CPU. Other keys are layers, such as `worker.rssBytes` or `system.cpuPercent`; at least every five seconds, also `others.cpuPercent` of other programs and `steal.cpuPercent` of the hypervisor, in percent of one core.',
    ),
  workersOverTime: workersOverTimeSchema.describe(
    'Each Socket.IO worker, at most 200 values, in the time of `samples`.',
  ),
  environment: object({
    versions: byName(z.string()).describe('Artillery, Node, Socket.IO, adapter, WebSocket engine'),
    server: orNull(serverSchema).describe('what was measured; null where a worker does not tell'),
    kernel: z.string().describe('kernel of the generator’s machine, to which the keys below belong, too'),
    cpu: z.string().describe('CPU model'),
    cpuCount: count.describe('cores'),
    memoryBytes: count.describe('total memory'),
    limits: byName(z.number()).describe(
      'open files, also those of the server’s process with most, and the container’s limits',
    ),
    sysctls: byName(z.string()).describe('kernel settings for network and files'),
    configHash: z.string().describe('SHA-256 of the settings'),
    settings: byName(z.unknown()).describe('what scenario and environment set, with secrets masked'),
    gitCommit: z.string().nullable().describe('commit of the working folder'),
  }),
});

export type Result = z.infer<typeof resultSchema>;
