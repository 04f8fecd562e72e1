/** `results/<id>/repeat.json`: several runs of one scenario, one after the other, and the spread of their figures. */
import { z } from 'zod';

const count = z.number().int().nonnegative();

export const statusSchema = z.enum(['VALID', 'SUSPECT', 'INVALID']);

export const spreadSchema = z.strictObject({
  runs: count,
  mean: z.number(),
  min: z.number(),
  max: z.number(),
  /** Standard deviation between runs; null of a single run. */
  deviation: z.number().nullable(),
  /** Student's 95 % interval of the mean; null of a single run. */
  low95: z.number().nullable(),
  high95: z.number().nullable(),
});

export const repeatSchema = z.strictObject({
  schemaVersion: z.literal(1),
  id: z.string(),
  scenario: z.string(),
  startedAt: z.string(),
  /** Of the latest run: the file is rewritten after each. */
  endedAt: z.string(),
  /** Number of runs requested. */
  times: count,
  runs: z.array(
    z.strictObject({
      /** Of `artillery run`. */
      exitCode: z.number().int(),
      /** Path of its result.json, relative to the folder of this file; null if the run left none. */
      result: z.string().nullable(),
      status: statusSchema.nullable(),
    }),
  ),
  /** By the figure's key in the result document; without INVALID runs. */
  figures: z.record(z.string(), spreadSchema),
});

export type Repeat = z.infer<typeof repeatSchema>;
export type Spread = z.infer<typeof spreadSchema>;
