/**
 * The sections of the result document about the workers' limits and machines, as reported by the workers, and about each worker over time.
 */
import { z } from 'zod';
import { throttledSchema, windowPercents } from './machine-schema.ts';
import { count, object, rowsOf } from './shared-schemas.ts';

export const workersSchema = rowsOf({
  worker: z.string().describe('its name'),
  machine: count.describe('its place in `workerMachines`, from 0'),
  usableCores: z.number().describe('CPUs that it can use, or the cores that its CPU quota allows'),
  openFiles: count.nullable().describe('most files and sockets open'),
  openFilesLimit: count.nullable().describe('limit of open files; null without a limit'),
  memoryLimitBytes: z.number().nullable().describe('its container’s limit; null without one'),
  container: count.nullable().describe('workers with the same number share that limit'),
  throttled: throttledSchema,
});

export const workerMachinesSchema = rowsOf({
  hostname: z.string().describe('host name reported by its first worker; in a container, the container’s'),
  isGenerators: z.boolean().describe('the generator runs on it, too'),
  model: z.string().optional().describe('CPU model; missing if an exporter reports the machine'),
  system: z.string().optional().describe('kernel with its release'),
  cores: count.describe('its CPU cores'),
  memoryBytes: z.number().describe('total memory'),
  usedBytes: z.number().nullable().describe('highest memory that was neither free nor in droppable caches'),
  cpuIdlePercent: windowPercents.describe('idle CPU, as `machine.cpuIdlePercent`'),
  stealPercent: windowPercents.describe('share of its cores used by the hypervisor for other machines'),
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
    .describe('largest delays of its event loop'),
});
