/** The section of the result document on several generator hosts. */
import { z } from 'zod';
import { count, summary } from './parts.ts';

const percent = z.number().nullable();

/** Empty if the host of the run brought the load itself. */
export const generatorsSchema = z
  .array(
    z.strictObject({
      /** Its name, and its index if it has one. */
      host: z.string(),
      cores: count,
      /** Of the scenario's arrivals, 0 to 1. */
      share: z.number(),
      arrivals: count,
      /** Opened by this host. */
      connections: count,
      /** Open after all broadcasts. */
      held: count,
      failed: count,
      /** Of all its cores; `ramp` is the ramp in which least was idle. */
      cpu: z.strictObject({
        idlePercent: z.strictObject({ ramp: percent, messages: percent, broadcasts: percent }),
      }),
      memory: z.strictObject({
        fleetPeakBytes: count,
        artilleryPeakBytes: count,
        /** Of the whole host; null where its kernel does not tell. */
        usedPeakBytes: count.nullable(),
      }),
      /** The worst of its event loops. */
      loops: z.strictObject({ delayP99Ms: z.number(), delayMaxMs: z.number(), utilization: z.number() }).nullable(),
      /** How much later than on the first host its arrivals began: those of the first of its engines. */
      startSkewMs: z.number().nullable(),
      /** Of all receipts on this host. */
      oneWayMs: summary,
      /** The conductor's clock less its own, and the largest possible error of a converted time. */
      clock: z.strictObject({ offsetMs: z.number(), boundMs: z.number() }).nullable(),
      /** Why it was gone before the end; null if it was not. */
      lost: z.string().nullable(),
    }),
  )
  .default([]);
