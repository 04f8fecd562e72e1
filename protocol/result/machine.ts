/** The sections of the result document on CPU, event loops and the machine. */
import { z } from 'zod';
import { count, interval } from './parts.ts';

/** Fewer broadcasts, or parts of their window with copies, do not show how much the CPU per message varies. */
export const MIN_BROADCAST_PARTS = 5;

export const cpuSchema = z.record(
  z.string(),
  z.strictObject({
    rampSecondsPerThousandConnects: z.number().nullable(),
    idlePercent: z.number().nullable(),
    /** Of it, what idle connections add to what the layer takes before the first one. */
    idleConnectionsPercent: z.number().nullable().default(null),
    broadcastMicrosecondsPerMessage: z.number().nullable(),
    /** Of the messages that connections send again and again, with what idle connections cost; null without any. */
    clientMicrosecondsPerMessage: z.number().nullable().default(null),
    /** Of the figures above; null where nothing is known of the noise, and with a figure that the noise exceeds. */
    intervals: z
      .strictObject({
        rampSecondsPerThousandConnects: interval,
        idlePercent: interval,
        idleConnectionsPercent: interval.default(null),
        broadcastMicrosecondsPerMessage: interval,
        clientMicrosecondsPerMessage: interval.default(null),
      })
      .nullable()
      .default(null),
  }),
);

/** Event loops of the load generator during the ramps, the hold if messages are sent in it, and the broadcasts; empty with external engines. */
export const generatorSchema = z.array(
  z.strictObject({
    window: z.enum(['ramp', 'messages', 'broadcasts']),
    part: z.enum(['fleet', 'artillery']),
    /** Index within its window and part, over all engines. */
    index: count,
    /** Artillery's id of the worker that the loop, or its fleet, belongs to. */
    engine: z.string().default(''),
    /** If several hosts bring the load. */
    host: z.string().optional(),
    utilization: z.number(),
    delayP50Ms: z.number(),
    delayP99Ms: z.number(),
    delayMaxMs: z.number(),
    /** Of the time that its thread was runnable, the share in which it waited for a CPU. */
    cpuWaitShare: z.number().nullable().default(null),
  }),
);

/** What a quota of CPU time did in the part of the window in which it stopped most; null without a quota. */
const throttled = z
  .strictObject({
    /** Cores that the quota is worth. */
    cores: z.number(),
    /** In which there was something to run. */
    periods: count,
    /** Of these, those in which the quota was used up. */
    throttledPeriods: count,
    throttledMs: z.number(),
  })
  .nullable()
  .default(null);
export const throttledSchema = z
  .strictObject({ ramp: throttled, messages: throttled, broadcasts: throttled })
  .nullable()
  .default(null);

/**
 * Who used the CPUs of the generator's machine in a window, in cores: seconds of CPU time per second. busy = ours + others +
 * steal + kernel + unaccounted. Of a container, only the CPUs that it may run on.
 */
const machineSharesSchema = z.strictObject({
  seconds: z.number(),
  /** That there are. */
  cores: count,
  /** With what the hypervisor took. */
  busyCores: z.number(),
  /** What the hypervisor gave to other machines. */
  stealCores: z.number(),
  /** Of generator and deployment. Null, as the next three, where it is not known which processes are the deployment's. */
  oursCores: z.number().nullable(),
  /** Of all other programs that this process can see. */
  othersCores: z.number().nullable(),
  /** Interrupts, and the kernel's own threads. */
  kernelCores: z.number().nullable(),
  /** Of what no process table shows: programs outside of the container. Anything up to `errorCores` is the error of the others. */
  unaccountedCores: z.number().nullable(),
  errorCores: z.number(),
  /** The largest of the other programs. Their names are as they have given them to themselves: any characters. */
  programs: z.array(z.strictObject({ name: z.string(), cores: z.number() })),
  /** Of the time, that in which something that was ready to run waited for a CPU; null where the kernel does not say. */
  pressurePercent: z.number().nullable(),
  /** Clock frequency; null where the machine does not say. */
  meanMhz: z.number().nullable(),
});

/** As above; each value is since the one before. `t` is on the time axis of the samples. */
const machineSharesOverTimeSchema = z.strictObject({
  t: z.array(z.number()),
  busyCores: z.array(z.number()),
  oursCores: z.array(z.number().nullable()),
  othersCores: z.array(z.number().nullable()),
  stealCores: z.array(z.number()),
  pressurePercent: z.array(z.number().nullable()),
  meanMhz: z.array(z.number().nullable()),
});

export type MachineShares = z.infer<typeof machineSharesSchema>;
export type MachineSharesOverTime = z.infer<typeof machineSharesOverTimeSchema>;

/** The generator's machine, which can be the deployment's, too. Of several, that of which least was idle. */
export const machineSchema = z
  .strictObject({
    /** `ramp` is the ramp in which least was idle. */
    cpuIdlePercent: z.strictObject({
      ramp: z.number().nullable(),
      messages: z.number().nullable().default(null),
      broadcasts: z.number().nullable(),
    }),
    /** Of the generator's container; null without a quota. */
    throttled: throttledSchema,
    /** Time that others took; null where the machine does not tell, or several hosts bring the load. */
    others: z
      .strictObject({
        /** Of several ramps, the one in which they took most. */
        windows: z.array(machineSharesSchema.extend({ window: z.enum(['ramp', 'idle', 'messages', 'broadcasts']) })),
        overTime: machineSharesOverTimeSchema,
      })
      .nullable()
      .default(null),
    swappedInBytes: count.nullable(),
    swappedOutBytes: count.nullable(),
  })
  .nullable()
  .default(null);

/** How complete the time series below is. */
export const samplingSchema = z
  .strictObject({
    intervalMs: z.number(),
    taken: count,
    missed: count,
    longestGapMs: z.number(),
    /** Failed readings, by source. */
    failures: z.record(z.string(), count),
  })
  .nullable()
  .default(null);
