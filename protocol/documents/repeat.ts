/** The spread of a figure over several runs. */
import { z } from 'zod';

export const statusSchema = z.enum(['VALID', 'SUSPECT', 'INVALID']);

export const spreadSchema = z.strictObject({
  runs: z.number().int().nonnegative(),
  mean: z.number(),
  min: z.number(),
  max: z.number(),
  /** Standard deviation between runs; null of a single run. */
  deviation: z.number().nullable(),
  /** Student's 95 % interval of the mean; null of a single run. */
  low95: z.number().nullable(),
  high95: z.number().nullable(),
});

export type Spread = z.infer<typeof spreadSchema>;
