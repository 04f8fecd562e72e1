/** What several sections of the result document consist of. */
import { z } from 'zod';

export const count = z.number().int().nonnegative();
export const layers = z.record(z.string(), z.number());

export const summarySchema = z.strictObject({
  count,
  min: z.number(),
  mean: z.number(),
  p50: z.number(),
  /** Of few broadcasts, a percentile is the slowest one by another name: null then. */
  p90: z.number().nullable(),
  p95: z.number().nullable(),
  p99: z.number().nullable(),
  p999: z.number().nullable(),
  max: z.number(),
});
/** Null if nothing was measured, never zero. */
export const summary = summarySchema.nullable();

/** 95 %; null where too little is known of the noise. */
export const interval = z.strictObject({ low95: z.number(), high95: z.number() }).nullable();
export const intervals = z.strictObject({ p50: interval, p99: interval });

export const reasonSchema = z.strictObject({ code: z.string(), message: z.string(), fix: z.string().optional() });

export type Interval = z.infer<typeof interval>;
export type Summary = z.infer<typeof summarySchema>;
