/** Sections of the result document on CPU, event loops and the machine. */
import { z } from 'zod';
import { describeFigure, type FigureDeclaration } from './figure.ts';
import {
  intervalOrNull,
  listOfObjects,
  objectSchemaOrNull,
  recordOf,
  resultCount,
  schemaOrNull,
  strictObject,
  summaryOrNull,
} from './shared-schemas.ts';

const percent = z.number().nullable();
const share = z.number().min(0).max(1);
export const windowPercentsSchema = strictObject({ ramp: percent, messages: percent, broadcasts: percent });

/**
 * Minimum number of broadcasts, and of parts of the broadcast window with copies, for an interval of the CPU per
 * message.
 */
export const MIN_BROADCAST_PARTS = 5;

/**
 * Declaration of CPU figures that are compared. Redis is left out here, because its CPU is compared only for
 * broadcasts. The whole machine is left out, because it includes the generator and other programs.
 */
const ofCpu = {
  answers: ['cpu'],
  compared: { worker: 'primary', nginx: 'secondary' },
} satisfies Partial<FigureDeclaration>;
const doesNotDecide = {
  ...ofCpu,
  compared: { worker: 'secondary', nginx: 'secondary' },
} satisfies Partial<FigureDeclaration>;

export const cpuSchema = z.record(
  z.string(),
  strictObject({
    rampSecondsPerThousandConnects: describeFigure(z.number().nullable(), 'null where only its interval is known', {
      ...{ ...ofCpu, title: 'CPU per 1,000 connects', quantity: 'cpuSeconds' },
    }),
    idlePercent: describeFigure(
      z.number().nullable(),
      'in the hold; if clients send in it, after their messages or before the first connection',
      { ...doesNotDecide, title: 'CPU while idle', quantity: 'percent', follows: 'load' },
    ),
    idleConnectionsPercent: describeFigure(schemaOrNull(z.number()), 'part that idle connections add', {
      ...{ title: 'CPU of idle connections', quantity: 'percent', answers: ['cpu'] },
    }),
    broadcastMicrosecondsPerMessage: describeFigure(z.number().nullable(), 'per delivered copy, less the idle share', {
      ...{ ...ofCpu, title: 'CPU per message', quantity: 'microseconds' },
    }),
    clientMicrosecondsPerMessage: describeFigure(
      schemaOrNull(z.number()),
      'per message of clients in the hold, less the idle share',
      { ...doesNotDecide, title: 'CPU per message of a client', quantity: 'microseconds' },
    ),
    isAtLeast: z.literal(true).optional().describe('some of its processes could not be read'),
    intervals: objectSchemaOrNull({
      rampSecondsPerThousandConnects: intervalOrNull,
      idlePercent: intervalOrNull,
      idleConnectionsPercent: intervalOrNull,
      broadcastMicrosecondsPerMessage: intervalOrNull,
      clientMicrosecondsPerMessage: intervalOrNull,
    }).describe('95 % intervals'),
  }),
);

/**
 * Event loops of the load generator during ramps, broadcasts and, if messages are sent, the hold. Empty for external
 * engines.
 */
export const generatorSchema = listOfObjects({
  window: z.enum(['ramp', 'messages', 'broadcasts']).describe('when; `messages` is the hold with messages'),
  part: z.enum(['fleet', 'artillery']).describe('a process with connections, or a thread with virtual users'),
  index: resultCount.describe('its number within window and part'),
  engine: z.string().describe('id of the Artillery worker that it belongs to'),
  host: z.string().optional().describe('with several hosts: the host that it runs on'),
  utilization: describeFigure(z.number(), '0 to 1', {
    ...{ quantity: 'share', answers: ['latency'] },
    live: {
      ...{ series: 'event_loop_utilization', label: 'loop' },
      help: 'Utilization of the event loop over the last second',
    },
  }),
  delayP50Ms: z.number().describe('delay of its timers: median'),
  delayP99Ms: describeFigure(z.number(), '99th percentile', {
    ...{ quantity: 'milliseconds', answers: ['latency'] },
    live: {
      ...{ series: 'event_loop_delay_p99_seconds', label: 'loop' },
      help: 'Delay of the event loop over the last second, p99',
    },
  }),
  delayMaxMs: z.number().describe('maximum'),
  cpuWaitShare: schemaOrNull(z.number()).describe('0 to 1: share of its runnable time in which it waited for a CPU'),
});

/**
 * How much a CPU quota stopped a container, in the part of the window with the most throttling. Null if there is no
 * quota.
 */
const throttled = schemaOrNull(
  strictObject({
    cores: z.number().describe('cores that the quota is worth'),
    periods: resultCount.describe('periods in which there was something to run'),
    throttledPeriods: resultCount.describe('periods in which the quota was used up'),
    throttledMs: z.number().describe('total time for which it was stopped'),
  }).meta({ id: 'Throttled', description: 'effect of a CPU quota; null without one' }),
);
export const throttledSchema = objectSchemaOrNull({
  ramp: throttled,
  messages: throttled,
  broadcasts: throttled,
}).describe('the container’s CPU quota, at its worst');

/**
 * Use of the CPUs of the generator's machine in a window. The unit is cores: seconds of CPU time per second. busy =
 * ours + others + steal + kernel, apart from processes that are not visible. In a container, only its allowed CPUs
 * count.
 */
export const machineSharesSchema = strictObject({
  seconds: z.number(),
  cores: resultCount.describe('CPUs that the generator may run on'),
  busyCores: z.number().describe('in use, including `stealCores`'),
  stealCores: z.number().describe('used by the hypervisor for other machines'),
  oursCores: z.number().nullable().describe('generator and deployment'),
  othersCores: z.number().nullable().describe('all other programs'),
  kernelCores: z.number().nullable().describe('interrupts, and the kernel’s own threads'),
  errorCores: z.number().describe('largest difference between the sum and the busy time'),
  pressure: objectSchemaOrNull({ cpu: share, memory: share, io: share }).describe(
    '0 to 1: share of the time in which some process of the machine waited for each (PSI); null if the kernel does not report it',
  ),
  // Names of programs. A program can set its name to any text, so a name can contain any characters.
  programs: listOfObjects({ name: z.string().max(200), cores: z.number() })
    .max(20)
    .describe('the largest of the other programs'),
});

const windowSharesSchema = z.array(
  machineSharesSchema.extend({
    window: z
      .enum(['ramp', 'idle', 'messages', 'broadcasts'])
      .describe('when; of several ramps, the one in which others took most'),
  }),
);

export type CpuThrottling = NonNullable<z.infer<typeof throttled>>;
export type MachineShares = z.infer<typeof machineSharesSchema>;

/**
 * Machine of the generator. The deployment can run on it, too. If there are several generator hosts, it is the host
 * with the least idle CPU.
 */
export const machineSchema = objectSchemaOrNull({
  /** The value `ramp` is from the ramp with the least idle CPU. */
  cpuIdlePercent: describeFigure(windowPercentsSchema, 'busiest ramp, hold with messages, broadcasts', {
    title: 'Idle CPU of the machine',
    quantity: 'percent',
    answers: ['cpu'],
  }),
  throttled: throttledSchema,
  others: objectSchemaOrNull({
    windows: windowSharesSchema.describe(
      'busy = ours + others + steal + kernel, within `errorCores`, but for programs outside of the container',
    ),
  }).describe('cores used by generator, deployment, others'),
  swappedInBytes: resultCount.nullable().describe('zswap included'),
  swappedOutBytes: resultCount.nullable().describe('zswap included'),
});

export const samplingSchema = objectSchemaOrNull({
  intervalMs: z.number().describe('time between two rows'),
  taken: resultCount.describe('rows'),
  missed: resultCount.describe('missing rows'),
  longestGapMs: z.number().describe('longest time between two rows'),
  failures: recordOf(resultCount).describe('failed readings by source; `row`: a whole row'),
});

/** Section of the result document on several generator hosts. */
export const generatorsSchema = listOfObjects({
  host: z.string().describe('its name, and its index if it has one'),
  cores: resultCount.describe('CPU cores that it may use'),
  memoryLimitBytes: z.number().nullable().describe('its container’s limit; null without one'),
  machine: strictObject({
    model: z.string().describe('of its CPU'),
    system: z.string().describe('with its release'),
    cores: resultCount.describe('all of them'),
    memoryBytes: z.number().describe('total memory'),
  }),
  share: z.number().describe('share of the scenario’s arrivals, 0 to 1'),
  arrivals: resultCount.describe('virtual users of its share'),
  connections: resultCount.describe('connections that it opened'),
  held: resultCount.describe('open after all broadcasts'),
  failed: resultCount.describe('connections that it could not open'),
  cpu: strictObject({
    idlePercent: windowPercentsSchema.describe('idle CPU, as `machine.cpuIdlePercent`'),
  }),
  others: windowSharesSchema.describe('use of its CPUs, as `machine.others`'),
  loops: strictObject({ delayP99Ms: z.number(), delayMaxMs: z.number(), utilization: z.number() })
    .nullable()
    .describe('the worst of its event loops, as in `generator`'),
  // The start time is measured at the first engine of the host.
  startSkewMs: z.number().nullable().describe('how much later than on the first host its arrivals began'),
  oneWayMs: summaryOrNull.describe('latency of the receipts on this host; null for an own event'),
  clock: strictObject({
    offsetMs: z.number().describe('how far the conductor’s clock is ahead of its own'),
    boundMs: z.number().describe('largest possible error of that'),
  }).nullable(),
  lost: z.string().nullable().describe('why it was lost before the end; null if it was not'),
});
