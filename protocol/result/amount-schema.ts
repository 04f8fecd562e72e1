/** A figure of the answer as data: quantity, value or interval, and the reason if it is unknown. */
import { z } from 'zod';
import { interval, object } from './shared-schemas.ts';

/** Quantities in the units of the result document: memory in bytes, CPU in seconds or percent of a core. */
export const QUANTITY_NAMES = [
  'count',
  'kilobytes',
  'megabytes',
  'size',
  'bytes',
  'milliseconds',
  'seconds',
  'cpuSeconds',
  'microseconds',
  'percent',
  'perSecond',
  'share',
] as const;

export type QuantityName = (typeof QUANTITY_NAMES)[number];

export const amountSchema = object({
  quantity: z.enum(QUANTITY_NAMES).describe('what it measures, and so how it is shown; memory is in bytes'),
  value: z.number().nullable().describe('null where only an interval is known, or nothing'),
  interval: interval.unwrap().optional().describe('95 %, around the value or in its place'),
  isAtLeast: z.literal(true).optional().describe('the value is a lower bound, because a part of it is unknown'),
  why: z.string().optional().describe('why there is no value, or only an interval'),
  next: z.string().optional().describe('what would make it known better'),
});

export type Amount = z.infer<typeof amountSchema>;
