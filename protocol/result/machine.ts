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
