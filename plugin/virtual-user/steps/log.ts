import { z } from 'zod';
import { escapeEachLine } from '../../../protocol/base/printable.ts';
import { defineStep } from './step.ts';

/** `log: "{{ name }} is in"`: prints a line on the console. */
export const logStep = defineStep({
  schema: z.strictObject({ log: z.union([z.string(), z.number(), z.boolean()]).describe('prints a line') }),
  compile({ log: spec }, build) {
    const text = build.template(spec);
    return (user) => console.log(escapeEachLine(String(text(user.context))));
  },
});
