/** `results/<id>/repeat.json`: runs of the same scenario, one after the other, and how far their figures spread. */
import { z } from 'zod';

const count = z.number().int().nonnegative();

const spreadSchema = z.strictObject({
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
  /** Of the newest run: the file is written again after each. */
  endedAt: z.string(),
  /** Runs asked for. */
  times: count,
  runs: z.array(
    z.strictObject({
      /** Of `artillery run`. */
      exitCode: z.number().int(),
      /** Path of its result.json, from the folder of this file; null when the run left none. */
      result: z.string().nullable(),
      status: z.enum(['VALID', 'SUSPECT', 'INVALID']).nullable(),
    }),
  ),
  /** By the figure's key in the result document. Of runs that are not INVALID. */
  figures: z.record(z.string(), spreadSchema),
});

export type Repeat = z.infer<typeof repeatSchema>;
export type Spread = z.infer<typeof spreadSchema>;
