/** The sections of the result document on CPU, event loops and the machine. */
import { z } from 'zod';
import { count, interval } from './parts.ts';

export const cpuSchema = z.record(
  z.string(),
  z.strictObject({
    rampSecondsPerThousandConnects: z.number().nullable(),
    idlePercent: z.number().nullable(),
    broadcastMicrosecondsPerMessage: z.number().nullable(),
    /** Of the messages that connections send again and again, with what idle connections cost; null without any. */
    clientMicrosecondsPerMessage: z.number().nullable().default(null),
    /** Of the figures above; null where nothing is known of the noise, and with a figure that the noise exceeds. */
    intervals: z
      .strictObject({
        rampSecondsPerThousandConnects: interval,
        idlePercent: interval,
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
    utilization: z.number(),
    delayP50Ms: z.number(),
    delayP99Ms: z.number(),
    delayMaxMs: z.number(),
    /** Of the time that its thread was runnable, the share in which it waited for a CPU. */
    cpuWaitShare: z.number().nullable().default(null),
  }),
);

/** The generator's machine, which can be the deployment's, too. */
export const machineSchema = z
  .strictObject({
    /** `ramp` is the ramp in which least was idle. */
    cpuIdlePercent: z.strictObject({
      ramp: z.number().nullable(),
      messages: z.number().nullable().default(null),
      broadcasts: z.number().nullable(),
    }),
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
