/** The outcome of the deployment under test, as opposed to the verdict on the measurement. */
import { z } from 'zod';
import { object, rowsOf } from './shared-schemas.ts';

export const outcomeSchema = object({
  status: z.enum(['PASSED', 'FAILED', 'UNKNOWN']).describe('`UNKNOWN`: the measurement is INVALID'),
  thresholds: rowsOf({
    name: z.string().describe('the expression of `ensure`, or of a general threshold'),
    met: z.boolean().describe('whether it was met'),
    strict: z.boolean().describe('false: missing it does not fail the run'),
    text: z.string().describe('the threshold with the measured value'),
  }).describe('thresholds of `ensure`, and general ones that it does not replace; empty if UNKNOWN'),
});

export type Outcome = z.infer<typeof outcomeSchema>;
