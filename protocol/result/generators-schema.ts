/** The section of the result document on several generator hosts. */
import { z } from 'zod';
import { windowPercents, windowSharesSchema } from './machine-schema.ts';
import { count, object, rowsOf, summary } from './shared-schemas.ts';

export const generatorsSchema = rowsOf({
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
  others: windowSharesSchema.describe('use of its CPUs, as `machine.others`'),
  loops: object({ delayP99Ms: z.number(), delayMaxMs: z.number(), utilization: z.number() })
    .nullable()
    .describe('the worst of its event loops, as in `generator`'),
  // Measured on the host's first engine.
  startSkewMs: z.number().nullable().describe('how much later than on the first host its arrivals began'),
  oneWayMs: summary.describe('latency of the receipts on this host; null for an own event'),
  clock: object({
    offsetMs: z.number().describe('how far the conductor’s clock is ahead of its own'),
    boundMs: z.number().describe('largest possible error of that'),
  }).nullable(),
  lost: z.string().nullable().describe('why it was lost before the end; null if it was not'),
});
