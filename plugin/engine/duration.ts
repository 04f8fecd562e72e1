import { z } from 'zod';
import { durationMs } from '../script/duration.ts';

/** Seconds or a duration with its unit, parsed to milliseconds. */
export const durationSchema = z
  .union([z.number(), z.string()], { error: 'expected seconds, or a duration such as "500ms"' })
  .transform((value, context) => {
    const ms = durationMs(value);
    if (ms !== undefined) return ms;
    context.addIssue({ code: 'custom', message: `expected seconds, or a duration such as "500ms", not ${value}` });
    return z.NEVER;
  });
