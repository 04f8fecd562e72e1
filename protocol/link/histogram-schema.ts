/** Apart from the other bounds: servers parse those too, and have no histogram library. */
import { z } from 'zod';
import { isEncodedHistogram } from '../base/histogram.ts';

/** An HDR histogram, compressed base64. */
export const histogram = z
  .string()
  .max(2 ** 17)
  .refine(isEncodedHistogram, 'expected a histogram');
