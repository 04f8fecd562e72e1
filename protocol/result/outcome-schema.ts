/** What the run showed about the deployment, as opposed to whether the measurement can be trusted. */
import { z } from 'zod';
import { object, rowsOf } from './shared-schemas.ts';

export const outcomeSchema = object({
  status: z.enum(['PASSED', 'FAILED', 'UNKNOWN']).describe('`UNKNOWN`: the measurement is INVALID'),
  thresholds: rowsOf({
    name: z.string().describe('the expression of `ensure`, or that of a general one'),
    met: z.boolean().describe('whether it was met'),
    strict: z.boolean().describe('false: missing it fails nothing'),
    text: z.string().describe('with what was found'),
  }).describe('those of `ensure`, and the general ones that it does not replace; empty if UNKNOWN'),
});

export type Outcome = z.infer<typeof outcomeSchema>;
