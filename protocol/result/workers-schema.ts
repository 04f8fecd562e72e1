/** The sections of the result document on the workers' limits and machines, as the workers tell them, and on each of them over time. */
import { z } from 'zod';
import { throttledSchema, windowPercents } from './machine-schema.ts';
import { count, object, rowsOf } from './shared-schemas.ts';

export const workersSchema = rowsOf({
  worker: z.string().describe('its name'),
  machine: count.describe('its place in `workerMachines`, from 0'),
  usableCores: z.number().describe('CPUs that it can use, or what a quota of CPU time is worth'),
  openFiles: count.nullable().describe('most files and sockets open'),
  openFilesLimit: count.nullable().describe('how many it can have open; null without a limit'),
  memoryLimitBytes: z.number().nullable().describe('its container’s limit; null without one'),
  container: count.nullable().describe('workers with the same number share that limit'),
  throttled: throttledSchema,
});

export const workerMachinesSchema = rowsOf({
  hostname: z.string().describe('as its first worker sees it; in a container, the container’s'),
  isGenerators: z.boolean().describe('the generator runs on it, too'),
  model: z.string().optional().describe('of its CPU; missing where an exporter reports the machine'),
  system: z.string().optional().describe('with its release'),
  cores: count.describe('its CPU cores'),
  memoryBytes: z.number().describe('total memory'),
  usedBytes: z.number().nullable().describe('most that was neither free nor in droppable caches'),
  cpuIdlePercent: windowPercents.describe('idle CPU, as `machine.cpuIdlePercent`'),
  stealPercent: windowPercents.describe('what a hypervisor took of its cores'),
});

const values = z.array(z.number());

/** Times are on the time axis of the samples. */
export const workersOverTimeSchema = rowsOf({
  worker: z.string().describe('its name, or `process <id>`'),
  process: object({ t: values, rssBytes: values, cpuPercent: z.array(z.number().nullable()) })
    .nullable()
    .describe('memory and CPU (100 is one core); null if it is on another machine'),
  eventLoop: object({ t: values, delayP99Ms: values, delayMaxMs: values })
    .nullable()
    .describe('how late its event loop was at most'),
});
