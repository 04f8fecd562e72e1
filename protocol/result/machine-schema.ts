/** The sections of the result document on CPU, event loops and the machine. */
import { z } from 'zod';
import { type Declaration, figure } from './figure.ts';
import { byName, count, interval, object, objectOrNull, orNull, rowsOf } from './shared-schemas.ts';

const percent = z.number().nullable();
const share = z.number().min(0).max(1);
export const windowPercents = object({ ramp: percent, messages: percent, broadcasts: percent });

/** Fewer broadcasts, or parts of their window with copies, do not show how much the CPU per message varies. */
export const MIN_BROADCAST_PARTS = 5;

/**
 * Of Redis, which keeps almost nothing per connection, only the broadcasts are compared, and the whole machine never: it
 * includes the generator and all other programs.
 */
const ofCpu = { answers: ['cpu'], compared: { worker: 'primary', nginx: 'secondary' } } satisfies Partial<Declaration>;
const doesNotDecide = {
  ...ofCpu,
  compared: { worker: 'secondary', nginx: 'secondary' },
} satisfies Partial<Declaration>;

export const cpuSchema = z.record(
  z.string(),
  object({
    rampSecondsPerThousandConnects: figure(
      z.number().nullable(),
      'CPU seconds; null where only its interval is known',
      {
        ...{ ...ofCpu, title: 'CPU per 1,000 connects', quantity: 'cpuSeconds' },
      },
    ),
    idlePercent: figure(
      z.number().nullable(),
      'during `hold`; where connections send messages in it: after them, or before the first connection',
      { ...doesNotDecide, title: 'CPU while idle', quantity: 'percent', follows: 'load' },
    ),
    idleConnectionsPercent: figure(orNull(z.number()), 'the part of it that idle connections add', {
      ...{ title: 'CPU of idle connections', quantity: 'percent', answers: ['cpu'] },
    }),
    broadcastMicrosecondsPerMessage: figure(z.number().nullable(), 'per delivered copy, less the idle share', {
      ...{ ...ofCpu, title: 'CPU per message', quantity: 'microseconds' },
    }),
    clientMicrosecondsPerMessage: figure(
      orNull(z.number()),
      'per message that connections send, in the hold, less the idle share; null without any, or within its noise',
      { ...doesNotDecide, title: 'CPU per message of a client', quantity: 'microseconds' },
    ),
    isAtLeast: z.literal(true).optional().describe('some of its processes could not be read'),
    intervals: objectOrNull({
      rampSecondsPerThousandConnects: interval,
      idlePercent: interval,
      idleConnectionsPercent: interval,
      broadcastMicrosecondsPerMessage: interval,
      clientMicrosecondsPerMessage: interval,
    }).describe('95 % intervals of these figures'),
  }),
);

/** Event loops of the load generator during the ramps, the hold if messages are sent in it, and the broadcasts; empty with external engines. */
export const generatorSchema = rowsOf({
  window: z.enum(['ramp', 'messages', 'broadcasts']).describe('when; `messages` is the hold with messages'),
  part: z.enum(['fleet', 'artillery']).describe('a process with connections, or a thread with virtual users'),
  index: count.describe('its number within window and part'),
  engine: z.string().describe('id of the Artillery worker that it belongs to'),
  host: z.string().optional().describe('with several hosts: the host that it runs on'),
  utilization: figure(z.number(), '0 to 1', {
    ...{ quantity: 'share', answers: ['latency'] },
    live: {
      ...{ series: 'event_loop_utilization', label: 'loop' },
      help: 'Utilization of the event loop over the last second, 0 to 1',
    },
  }),
  delayP50Ms: z.number().describe('how late its timers were: median'),
  delayP99Ms: figure(z.number(), '99th percentile', {
    ...{ quantity: 'milliseconds', answers: ['latency'] },
    live: {
      ...{ series: 'event_loop_delay_p99_seconds', label: 'loop' },
      help: 'Delay of the event loop over the last second, p99',
    },
  }),
  delayMaxMs: z.number().describe('maximum'),
  cpuWaitShare: orNull(z.number()).describe('0 to 1: share of its runnable time in which it waited for a CPU'),
});

/** What a quota of CPU time did in the part of the window in which it stopped most; null without a quota. */
const throttled = orNull(
  object({
    cores: z.number().describe('cores that the quota is worth'),
    periods: count.describe('periods in which there was something to run'),
    throttledPeriods: count.describe('periods with the quota used up'),
    throttledMs: z.number().describe('how long it stood still, in all'),
  }).meta({ id: 'Throttled', description: 'what a quota of CPU time did; null without one' }),
);
export const throttledSchema = objectOrNull({ ramp: throttled, messages: throttled, broadcasts: throttled }).describe(
  'what the container’s CPU quota did, at its worst',
);

/**
 * Who used the CPUs of the generator's machine in a window, in cores: seconds of CPU time per second. busy = ours + others +
 * steal + kernel, but for what no process table shows. Of a container, only the CPUs that it may run on.
 */
export const machineSharesSchema = object({
  seconds: z.number(),
  cores: count.describe('CPUs that the generator may run on'),
  busyCores: z.number().describe('in use, with what the hypervisor took'),
  stealCores: z.number().describe('what the hypervisor gave to other machines'),
  oursCores: z.number().nullable().describe('generator and deployment'),
  othersCores: z.number().nullable().describe('all other programs'),
  kernelCores: z.number().nullable().describe('interrupts, and the kernel’s own threads'),
  errorCores: z.number().describe('how far the sum can be from the busy time'),
  pressure: objectOrNull({ cpu: share, memory: share, io: share }).describe(
    '0 to 1: how long some process of the machine waited for each (PSI); null where the kernel does not tell',
  ),
  // Their names are as they have given them to themselves: any characters.
  programs: rowsOf({ name: z.string().max(200), cores: z.number() })
    .max(20)
    .describe('the largest of the other programs'),
});

export const windowSharesSchema = z.array(
  machineSharesSchema.extend({
    window: z
      .enum(['ramp', 'idle', 'messages', 'broadcasts'])
      .describe('when; of several ramps, the one in which others took most'),
  }),
);

export type Throttled = NonNullable<z.infer<typeof throttled>>;
export type MachineShares = z.infer<typeof machineSharesSchema>;

/** The generator's machine, which can be the deployment's, too. Of several, that of which least was idle. */
export const machineSchema = objectOrNull({
  /** `ramp` is the ramp in which least was idle. */
  cpuIdlePercent: figure(
    windowPercents,
    'idle CPU of all cores in the busiest ramp, the hold with messages, and the broadcasts',
    { title: 'Idle CPU of the machine', quantity: 'percent', answers: ['cpu'] },
  ),
  throttled: throttledSchema,
  others: objectOrNull({
    windows: windowSharesSchema.describe(
      'busy = ours + others + steal + kernel, within `errorCores`, but for programs outside of the container',
    ),
  }).describe('CPU time by who used it, in cores; null with several hosts'),
  swappedInBytes: count.nullable().describe('read from swap during the run, zswap included'),
  swappedOutBytes: count.nullable().describe('written to swap, likewise'),
});

export const samplingSchema = objectOrNull({
  intervalMs: z.number().describe('time between two rows'),
  taken: count.describe('rows'),
  missed: count.describe('scheduled rows that are missing'),
  longestGapMs: z.number().describe('longest time between two rows'),
  failures: byName(count).describe('failed readings by source; `row` for a whole row'),
});
