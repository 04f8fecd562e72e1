import { z } from 'zod';
import { durationMs } from '../../script/duration.ts';
import { isTemplate } from '../../script/is-template.ts';
import { FlowError } from '../flow-error.ts';
import { defineStep } from './step.ts';

const jitterSchema = z.union([z.number().min(0), z.string().regex(/^\s*[\d.]+\s*(%|ms|s)?\s*$|\{\{/)], {
  error: 'expected milliseconds, or a share such as "20%"',
});

/**
 * `think: 2` waits two seconds, `think: 0.5` or `think: 500ms` half a second. `jitter` varies the time by plus or minus
 * some milliseconds or percent.
 */
export const thinkStep = defineStep({
  schema: z.strictObject({
    think: z
      .union([z.number(), z.string()], { error: 'expected seconds; for a range, write think: 2 with jitter: 1s' })
      .refine((value) => isTemplate(value) || durationMs(value) !== undefined, {
        error: 'expected seconds, or a duration such as "500ms"',
      })
      .describe('waits: seconds, or a duration'),
    jitter: jitterSchema
      .optional()
      .describe('plus or minus: milliseconds, `2s` or `20%`; default: `config.defaults.think.jitter`'),
  }),
  staySeconds: ({ think: time }) => (durationMs(time) ?? Number.POSITIVE_INFINITY) / 1000,
  waits: true,
  compile({ think: spec, jitter }, build) {
    const timeOf = build.template(spec);
    const jitterOf = build.template(jitter ?? build.shared.config.thinkJitter);
    return (user) => {
      const ms = durationMs(timeOf(user.context));
      if (ms === undefined) throw new FlowError('invalid_template', `think: ${timeOf(user.context)} is not a duration`);
      return new Promise((resolve) => setTimeout(resolve, withJitter(ms, jitterOf(user.context))));
    };
  },
});

/**
 * Varies a time at random.
 * @param jitter milliseconds as number or text, `"2s"`, or `"20%"` of the time
 */
export function withJitter(ms: number, jitter: unknown): number {
  if (jitter === undefined || jitter === null) return ms;
  const text = String(jitter).trim();
  const amount = Number.parseFloat(text) || 0;
  let range = amount;
  if (text.endsWith('%')) range = (ms * amount) / 100;
  else if (/\ds$/.test(text)) range = amount * 1000;
  return Math.max(0, ms + (Math.random() * 2 - 1) * range);
}
