/** Schemas that several sections of the result document use. Their descriptions appear in docs/reference/result.md. */
import { z } from 'zod';

export const strictObject = z.strictObject;
export const listOfObjects = <S extends z.ZodRawShape>(shape: S) => z.array(strictObject(shape));
export const recordOf = <T extends z.ZodType>(of: T) => z.record(z.string(), of);
/** Returns a schema that also accepts null, for a value that was not measured. */
export const schemaOrNull = <T extends z.ZodType>(schema: T) => z.nullable(schema);
export const objectSchemaOrNull = <S extends z.ZodRawShape>(shape: S) => schemaOrNull(strictObject(shape));

export const resultCount = z.number().int().nonnegative();
export const numbersByLayer = recordOf(z.number());
/** Time of a reading, or time at which an interval starts. */
export const secondsSchema = z.number().describe('seconds since the first of `samples`');

export const summarySchema = strictObject({
  count: resultCount.describe('how many values'),
  min: z.number().describe('smallest'),
  mean: z.number().describe('mean'),
  p50: z.number().describe('median'),
  // If there are too few broadcasts, a high percentile would be equal to the slowest broadcast, so it is null.
  p90: z.number().nullable().describe('percentiles; null if too few values distinguish them from the largest'),
  p95: z.number().nullable().describe('95 %'),
  p99: z.number().nullable().describe('99 %'),
  p999: z.number().nullable().describe('99.9 %'),
  max: z.number().describe('largest'),
}).meta({
  id: 'Summary',
  description: 'a distribution, without percentiles that too few values tell from the largest',
});
/** Distribution of measured values; null if nothing was measured. */
export const summaryOrNull = summarySchema.nullable();

const intervalSchema = strictObject({
  low95: z.number().describe('lower end'),
  high95: z.number().describe('upper end'),
}).meta({ id: 'Interval', description: 'a 95 % interval; null with too few readings' });
export const intervalOrNull = intervalSchema.nullable();
export const intervalsByPercentile = strictObject({ p50: intervalOrNull, p99: intervalOrNull });

export type Interval = z.infer<typeof intervalOrNull>;
export type Summary = z.infer<typeof summarySchema>;
