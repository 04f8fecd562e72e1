/** The sections of the result document on the workers' limits and machines, as the workers tell them. */
import { z } from 'zod';
import { throttledSchema } from './machine.ts';
import { count } from './parts.ts';

/** Empty where no worker tells. */
export const workersSchema = z
  .array(
    z.strictObject({
      worker: z.string(),
      /** Its place in `workerMachines`. */
      machine: count,
      /** Cores that it can use: CPUs, or what a quota of CPU time is worth. */
      usableCores: z.number(),
      /** Files and sockets that it had open at most; null where its system does not tell. */
      openFiles: count.nullable(),
      /** Null without a limit. */
      openFilesLimit: count.nullable(),
      /** Of its container; null without one. */
      memoryLimitBytes: z.number().nullable(),
      /** Workers with the same number share that limit. */
      container: count.nullable(),
      /** Processes and threads of its container; null without a limit. */
      tasksLimit: count.nullable(),
      throttled: throttledSchema,
    }),
  )
  .default([]);

export const workerMachinesSchema = z
  .array(
    z.strictObject({
      /** Of its first worker; in a container, the container's. */
      hostname: z.string(),
      /** The generator runs on it, too. */
      isGenerators: z.boolean(),
      cores: count,
      memoryBytes: z.number(),
      /** At most, neither free nor in caches. */
      usedBytes: z.number().nullable(),
      /** At most, in the network namespaces of its workers. */
      tcpSockets: count.nullable(),
      /** 100 is all cores; null where nothing was measured. */
      cpuIdlePercent: z.strictObject({
        ramp: z.number().nullable(),
        messages: z.number().nullable(),
        broadcasts: z.number().nullable(),
      }),
      /** What a hypervisor took of its cores; null where nothing was measured, or the workers are of an older version. */
      stealPercent: z
        .strictObject({
          ramp: z.number().nullable(),
          messages: z.number().nullable(),
          broadcasts: z.number().nullable(),
        })
        .default({ ramp: null, messages: null, broadcasts: null }),
    }),
  )
  .default([]);
