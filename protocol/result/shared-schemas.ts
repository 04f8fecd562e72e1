/** Schemas that several sections of the result document use. Their descriptions appear in docs/reference/result.md. */
import { z } from 'zod';

export const object = z.strictObject;
export const rowsOf = <S extends z.ZodRawShape>(shape: S) => z.array(object(shape));
export const byName = <T extends z.ZodType>(of: T) => z.record(z.string(), of);
/** Returns a schema that also accepts null, for a value that was not measured. */
export const orNull = <T extends z.ZodType>(schema: T) => z.nullable(schema);
export const objectOrNull = <S extends z.ZodRawShape>(shape: S) => orNull(object(shape));

export const count = z.number().int().nonnegative();
export const layers = byName(z.number());
/** Time of a reading, or of the start of an interval. */
export const time = z.number().describe('seconds since the first of `samples`');

export const summarySchema = object({
  count: count.describe('how many values'),
  min: z.number().describe('smallest'),
  mean: z.number().describe('mean'),
  p50: z.number().describe('median'),
  // A high percentile of few broadcasts is equal to the slowest broadcast.
  p90: z.number().nullable().describe('percentiles; null if too few values distinguish them from the largest'),
  p95: z.number().nullable().describe('95 %'),
  p99: z.number().nullable().describe('99 %'),
  p999: z.number().nullable().describe('99.9 %'),
  max: z.number().describe('largest'),
}).meta({
  id: 'Summary',
  description: 'a distribution, without percentiles that too few values tell from the largest',
});
/** Distribution; null if nothing was measured. */
export const summary = summarySchema.nullable();

const intervalSchema = object({
  low95: z.number().describe('lower end'),
  high95: z.number().describe('upper end'),
}).meta({ id: 'Interval', description: 'a 95 % interval; null with too few readings' });
export const interval = intervalSchema.nullable();
export const intervals = object({ p50: interval, p99: interval });

export type Interval = z.infer<typeof interval>;
export type Summary = z.infer<typeof summarySchema>;
