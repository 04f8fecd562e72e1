/** The section `workersOverTime` of the result document: each Socket.IO worker over time. */
import { z } from 'zod';

const values = z.array(z.number());

/** Times are on the time axis of the samples. */
export const workersOverTimeSchema = z
  .array(
    z.strictObject({
      worker: z.string().describe('its name, or `process <id>`'),
      process: z
        .strictObject({ t: values, rssBytes: values, cpuPercent: z.array(z.number().nullable()) })
        .nullable()
        .describe('memory and CPU (100 is one core); null if it is on another machine'),
      eventLoop: z
        .strictObject({ t: values, delayP99Ms: values, delayMaxMs: values })
        .nullable()
        .describe('how late its event loop was at most'),
    }),
  )
  .default([]);
