/**
 * Schema of a histogram. It is in a separate file, because servers load the other schemas but have no histogram
 * library.
 */
import { z } from 'zod';
import { isEncodedHistogram } from '../base/histogram.ts';

/** HDR histogram as compressed base64. */
export const histogramSchema = z
  .string()
  .max(2 ** 17)
  .refine(isEncodedHistogram, 'expected a histogram');
