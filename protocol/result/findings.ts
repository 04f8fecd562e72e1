/**
 * Findings of a run (problems and doubts). They are derived once from the measurements, and all reports and commands
 * read this list.
 */
import { z } from 'zod';
import { EXPECTATION_NAMES } from '../codes/expectations.ts';
import { listOfObjects, strictObject } from './shared-schemas.ts';

const ABOUT = ['measurement', 'generator', 'machine', 'deployment', 'application'] as const;
export type FindingSubject = (typeof ABOUT)[number];

/** Parts of the answer that a finding can invalidate. `run` stands for all of them. */
const INVALIDATED = ['connections', 'memory', 'delivery', 'latency', 'cpu', 'run'] as const;
export type InvalidatedPart = (typeof INVALIDATED)[number];
export type AnsweredQuestion = Exclude<InvalidatedPart, 'run'>;

const valueSchema = strictObject({
  name: z.string().describe('what it is, such as `lost connections`'),
  value: z.number(),
  unit: z.string().describe('empty for a count'),
  low95: z.number().nullable().describe('lower end of its 95 % interval; null where it was counted'),
  high95: z.number().nullable().describe('upper end'),
});

export const findingSchema = strictObject({
  code: z.string().describe('its [code](./errors.md)'),
  about: z.enum(ABOUT).describe('what it is about; `machine` is the one that the generator runs on'),
  invalidates: z.array(z.enum(INVALIDATED)).describe('figures that must not be used because of it; `run`: all'),
  fails: z.enum(EXPECTATION_NAMES).nullable().describe('the expectation that the deployment misses; null for none'),
  explains: z.array(z.string()).describe('codes of other findings of this run that it is the cause of'),
  subject: z.string().optional().describe('the worker, host, process or room that it is about'),
  window: z.string().optional().describe('the stage of the run in which it happened'),
  values: listOfObjects(valueSchema.shape).optional().describe('the numbers in the message'),
  message: z.string().describe('what happened, with its numbers'),
  fix: z.string().describe('what to do about it'),
});

export type Finding = z.infer<typeof findingSchema>;
export type FindingValue = z.infer<typeof valueSchema>;

/**
 * Returns the values of a finding, each with its name. Unknown values are left out.
 * @param unit unit of all values; empty for counts
 */
export function findingValues(named: Record<string, number | null | undefined>, unit = ''): FindingValue[] {
  return Object.entries(named).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [{ name, value, unit, low95: null, high95: null }],
  );
}
