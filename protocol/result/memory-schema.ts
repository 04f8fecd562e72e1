/** Section `memory` of the result document: bytes by layer. */
import { z } from 'zod';
import { INSPECTED_RUNTIMES } from '../documents/server-runtimes.ts';
import { describeFigure, type FigureDeclaration } from './figure.ts';
import { memoryCodePlacesSchema } from './places-schema.ts';
import {
  listOfObjects,
  numbersByLayer,
  objectSchemaOrNull,
  recordOf,
  resultCount,
  schemaOrNull,
  secondsSchema,
  strictObject,
} from './shared-schemas.ts';

/** Memory reading at a point in time, while clients connect and disconnect. */
const momentSchema = strictObject({
  t: secondsSchema,
  connections: z.number().describe('connections at that time'),
  gone: z.number().describe('connections that had been opened and closed by then'),
  bytes: numbersByLayer.describe('by layer'),
});

const driftSchema = strictObject({
  bytesPerConnection: describeFigure(
    z.number(),
    'memory that each connection leaves behind; the whole rise if `perSecond` is null',
    { title: 'per connection that left', quantity: 'size', answers: ['memory'] },
  ),
  low95: z.number().nullable().describe('lower end of its 95 % interval; null with fewer than three readings'),
  high95: z.number().nullable().describe('upper end'),
  perSecond: objectSchemaOrNull({
    bytes: describeFigure(z.number(), 'bytes per second', { quantity: 'size', answers: ['memory'] }),
    low95: z.number(),
    high95: z.number(),
    noLeakAbove: z.number().describe('bytes per second from which a rise over time would have been detected'),
  }).describe('rise over time, independent of connections; null if the readings cannot separate the two'),
  bytesPerHour: z.number().describe('the whole rise, by time'),
  bytesPerWave: z.number().nullable().describe('the whole rise, by waves; null with churn'),
  leaks: z
    .boolean()
    .nullable()
    .describe(
      'an interval is above 0, and the rise above what readings of an idle server differ by; null if the readings are not conclusive',
    ),
  noLeakAbove: z
    .number()
    .nullable()
    .describe('bytes per connection from which a leak would have been detected, at least `high95`'),
  conclusiveRun: objectSchemaOrNull({
    connections: z.number().describe('connections of each wave; with churn, in all'),
    bytes: z.number().describe('bytes per connection that would be detected then'),
  }).describe('a run that would be conclusive, if `noLeakAbove` is more than the cost of a connection; null otherwise'),
  sinceSeconds: schemaOrNull(z.number()).describe(
    'the line begins here, because memory had grown before and then stopped; null: at the warm-up’s end',
  ),
});

const countSchema = strictObject({
  id: z.string().describe('such as `workerNamespaces` or `redisKeys`'),
  title: z.string().describe('what is counted'),
  first: resultCount.describe('after the first wave of the line'),
  last: resultCount.describe('after the last one'),
  perConnection: z.number().describe('number that each connection leaves behind'),
  low95: z.number().describe('lower end of its 95 % interval'),
  high95: z.number().describe('upper end'),
  isKept: z.boolean().describe('the interval is above 0, and at least one remains per hundred connections'),
});

const overTimeSchema = strictObject({
  kind: z
    .enum(['waves', 'churn', 'load'])
    .describe(
      'read after each wave, with no connections, or while virtual users come and go: with `overTime.every`, or in a load whose users all leave by themselves',
    ),
  collected: z.boolean().describe('the workers collected their garbage before each reading'),
  peaks: z.array(momentSchema).describe('each wave when all were connected; only with waves'),
  readings: z
    .array(momentSchema)
    .describe('the readings of the line; older ones are means of neighbours in a long run'),
  // Readings until as many connections had closed as were open at the peak.
  warmUpReadings: resultCount.describe('readings at the beginning that the line leaves out'),
  counts: z
    .array(countSchema)
    .default([])
    .describe('counts that remain after all connections have closed; only with waves'),
  drift: recordOf(driftSchema).describe('memory that a connection leaves behind, by layer'),
});

export type OverTimeResult = z.infer<typeof overTimeSchema>;
export type CountOverTime = z.infer<typeof countSchema>;
export type MemoryDrift = z.infer<typeof driftSchema>;

const DOUBTS = ['curved', 'grows', 'freed', 'kept', 'reused', 'miscounted'] as const;

const BYTES_PER_CONNECTION = 'memory.*.bytes_per_connection';
const perConnection = { quantity: 'kilobytes', answers: ['memory'], noise: 'fit' } satisfies FigureDeclaration;

const SLOPE = 'bytes per connection: the line through the plateaus';
const slopeSchema = strictObject({
  slope: z.number().describe(SLOPE),
  low95: z.number().nullable().describe('lower end of its 95 % interval; null with fewer than three plateaus'),
  high95: z.number().nullable().describe('upper end'),
  r2: z.number().describe('share of the variance that a least-squares line explains'),
  naive: z.number().describe('(peak − baseline) ÷ connections, as in the Techracers study'),
  doubt: z.enum(DOUBTS).optional().describe('why the slope is not reliable; see “When there is no line”'),
});

const partSchema = strictObject({
  title: z.enum(['workers', 'proxy', 'kernel']).describe('part of the deployment'),
  layer: z.string().describe('the layer that it is from'),
  bytes: z.number().describe('per connection, at rest'),
  low95: z.number().nullable().describe('lower end of its 95 % interval'),
  high95: z.number().nullable().describe('upper end'),
  doubt: z.enum(DOUBTS).optional().describe('why its layer is in doubt; the interval allows for it'),
  native: z.number().optional().describe('part of `bytes`: native memory of the workers, which V8 does not count'),
  inService: z.number().nullable().describe('at the peak, with garbage and buffers; null if not measured'),
});

const perConnectionSchema = strictObject({
  bytes: describeFigure(z.number().nullable(), 'the sum of the parts: what a connection keeps; null without parts', {
    ...{ ...perConnection, title: 'Memory per connection', compared: 'primary' },
    threshold: BYTES_PER_CONNECTION.replace('*', 'deployment'),
  }),
  low95: z.number().nullable().describe('lower end of its 95 % interval; null with fewer than three plateaus'),
  high95: z.number().nullable().describe('upper end'),
  isAtLeast: z.boolean().describe('a part is in doubt or too noisy (`without`), so the sum may not be quoted'),
  parts: z.array(partSchema).describe('parts of the sum'),
  without: listOfObjects({
    title: z.enum([...partSchema.shape.title.options, 'native memory']).describe('part of the deployment'),
    doubt: z
      .enum([...DOUBTS, 'noisy', 'uncounted'])
      .describe(
        'as in `perConnectionBytes`; `noisy`: it would hide the others; `uncounted`: RSS shows more than V8 counts',
      ),
  }).describe('unknown parts, which the sum omits'),
  unread: z
    .array(partSchema.shape.title)
    .default([])
    .describe(
      'parts that could not be read (why: `absent`); the sum is a lower bound, comparable with others without them',
    ),
  inService: z.number().nullable().describe('the sum of the parts at the peak, with garbage and buffers'),
  conclusiveRun: strictObject({
    connections: resultCount.describe('connections of that larger run'),
    halfWidthBytes: z.number().describe('half of its interval then'),
  })
    .nullable()
    .describe(
      'a run that would narrow a wide interval; null if it is narrow, or wide because of memory that grows with the connections, such as garbage',
    ),
});

const layerSchema = strictObject({
  id: z.string().describe('key of its memory figures (`workerRss`), or in `cpu` and `samples` (`worker`)'),
  title: z.string().describe('its display name'),
  unit: z.enum(['bytes', 'cpuSeconds']).describe('bytes of memory, or CPU time'),
  belongsTo: z
    .enum(['deployment', 'generator', 'machine'])
    .describe('`machine`: all that runs on the generator’s machine'),
  inSum: z.boolean().describe('its bytes are in no other layer with `inSum`'),
  main: z.boolean().describe('shown where there is room for few layers'),
});

const beyondSchema = {
  bytes: z.number().describe('per connection'),
  low95: z.number().nullable().describe('lower end of its 95 % interval; null with fewer than three plateaus'),
  high95: z.number().nullable().describe('upper end'),
  isSignificant: z.boolean().describe('the interval is above noise and 10 % of the headline'),
};

export const memorySchema = strictObject({
  layers: z.array(layerSchema).describe('in the order of tables'),
  collected: z.boolean().describe('garbage was collected before each reading at rest'),
  inspector: strictObject({
    processes: resultCount.describe('processes of the server that it reads'),
    runtime: z
      .enum(INSPECTED_RUNTIMES)
      .default('v8')
      .describe(
        'Node and Deno (`v8`): heap and external memory; `jvm`: the heap; `go`: the heap and stacks of goroutines',
      ),
    longestPauseMs: z.number().nonnegative().describe('longest stop of a process by a reading and its collections'),
  })
    .optional()
    .describe('effect of `workers.inspect`'),
  places: memoryCodePlacesSchema.optional().describe('by [place](../method/memory.md#by-place) of allocation'),
  perConnection: schemaOrNull(perConnectionSchema).describe('the headline'),
  perConnectionBytes: recordOf(
    slopeSchema.extend({
      slope: describeFigure(z.number(), SLOPE, {
        ...{ ...perConnection, title: 'per connection', threshold: BYTES_PER_CONNECTION },
        compared: {
          workerPss: 'secondary',
          workerRss: { insteadOf: 'workerPss' },
          workerHeapUsed: 'secondary',
          nginxPss: 'secondary',
        },
      }),
    }),
  ).describe('at rest, by layer'),
  inService: objectSchemaOrNull({
    // Slope of memory in service (before a garbage collection). It uses the readings before the collections, or
    // `peakBytes` per connection if that is larger.
    perConnectionBytes: recordOf(
      slopeSchema.omit({ naive: true }).extend({
        slope: describeFigure(z.number(), SLOPE, {
          title: 'per connection in service',
          quantity: 'kilobytes',
          answers: ['memory'],
        }),
      }),
    ).describe('by layer; no interval, as the peak is one observation'),
    peakBytes: numbersByLayer.describe('highest reading while all were connected and received broadcasts, by layer'),
    plateaus: z
      .array(z.object({ connections: resultCount.describe('at that plateau') }).catchall(z.number()))
      .describe('bytes by layer, just before the garbage collection'),
  }).describe('in service'),
  balance: objectSchemaOrNull({
    parts: listOfObjects({
      part: z
        .enum(['shared', 'programs', 'kernel'])
        .describe('shared memory (`systemUnmeasuredShared`), programs (`systemUnmeasured`), or `systemKernel`'),
      ...beyondSchema,
    }).describe('parts of the machine’s memory; those that could not be read are missing'),
    holders: listOfObjects({
      pid: resultCount.nullable().describe('a process that no layer includes; null for a place of shared memory'),
      name: z.string().describe('the process’s command line without credentials, or the place'),
      ...beyondSchema,
    }).describe('probable holders: the processes or places that grew most, at most three'),
  }).describe('machine’s memory beyond the [layers](../method/memory.md#do-the-layers-add-up)'),
  peakBytes: numbersByLayer.describe('highest reading, by layer'),
  residualBytes: numbersByLayer.describe('at the end, less the baseline, by layer'),
  plateaus: z
    .array(z.object({ connections: resultCount.describe('at that plateau') }).catchall(z.number()))
    .describe('bytes by layer, at rest'),
  leaks: describeFigure(resultCount.nullable().default(null), 'layers and counts that leak; null if inconclusive', {
    quantity: 'count',
    noun: 'leaks',
    answers: ['memory'],
    threshold: 'memory.leaks',
  }),
  overTime: schemaOrNull(overTimeSchema).describe('[over time](../method/memory.md#memory-over-time)'),
  sources: recordOf(z.string()).describe('by layer'),
  absent: recordOf(z.string()).describe('unreadable layers, with the reason'),
});

export type MemoryPerConnection = z.infer<typeof perConnectionSchema>;
export type MemorySlope = z.infer<typeof slopeSchema>;
export type LayerDescription = z.infer<typeof layerSchema>;
