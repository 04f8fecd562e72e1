/** The section `workersOverTime` of the result document: each Socket.IO worker over time. */
import { z } from 'zod';

const values = z.array(z.number());

/** Times are on the time axis of the samples. */
export const workersOverTimeSchema = z
  .array(
    z.strictObject({
      /** Its name, or its process id where nobody tells the name. */
      worker: z.string(),
      /** Null where its process is not on this machine. */
      process: z.strictObject({ t: values, rssBytes: values, cpuPercent: z.array(z.number().nullable()) }).nullable(),
      /** How late it is: the highest of each interval. Null where the worker does not tell. */
      eventLoop: z.strictObject({ t: values, delayP99Ms: values, delayMaxMs: values }).nullable(),
    }),
  )
  .default([]);
