/**
 * Schema of a histogram. It is separate from the other schemas, because servers also load those, and servers have no
 * histogram library.
 */
import { z } from 'zod';
import { isEncodedHistogram } from '../base/histogram.ts';

/** HDR histogram as compressed base64. */
export const histogramSchema = z
  .string()
  .max(2 ** 17)
  .refine(isEncodedHistogram, 'expected a histogram');
