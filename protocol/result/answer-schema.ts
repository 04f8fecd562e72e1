/**
 * Answer of a run: the lines and figures at the top of every report. It is stored, so that all reports show the same
 * answer.
 */
import { z } from 'zod';
import { amountSchema } from './figure.ts';
import { listOfObjects, strictObject } from './shared-schemas.ts';

const figureSchema = strictObject({
  key: z.string().optional().describe('its key in this document; missing if the value is a word, or in older results'),
  name: z.string().describe('its name, such as `Connections held`'),
  value: z.union([z.string(), amountSchema]).describe('a figure, or a word if there is none'),
  note: z.string().describe('a note on the figure; may be empty'),
});

const lineSchema = strictObject({
  section: z.string().describe('the section of the report that has the details'),
  text: z.string().nullable().describe('a sentence; null if the figure alone shows that it is unknown'),
  figure: figureSchema.optional().describe('the figure that people quote'),
  doubts: z.array(z.string()).optional().describe('codes of findings that invalidate it'),
});

export const answerSchema = strictObject({
  title: z.string().describe('the outcome in words'),
  cause: z.string().nullable().describe('root cause of a failure, or the missed thresholds'),
  machine: z.string().describe('machines of generator and server'),
  lines: listOfObjects(lineSchema.shape).describe('figures in words; none if INVALID'),
});

export type AnswerLine = z.infer<typeof lineSchema>;
export type RunAnswer = z.infer<typeof answerSchema>;

/** Outcome: whether the deployment met the expectations. The verdict, in contrast, rates the measurement. */
export const runOutcomeSchema = strictObject({
  status: z.enum(['PASSED', 'FAILED', 'UNKNOWN']).describe('`UNKNOWN` if the run is INVALID'),
  thresholds: listOfObjects({
    name: z.string().describe('the expression of `ensure`, or of a general threshold'),
    met: z.boolean().describe('whether it was met'),
    strict: z.boolean().describe('false: missing it does not fail the run'),
    text: z.string().describe('the threshold with the measured value'),
  }).describe('of `ensure`, and expectations that it does not replace'),
});

export type RunOutcome = z.infer<typeof runOutcomeSchema>;
