/** Schemas of a series of runs, shared by study.json and search.json. */
import { z } from 'zod';
import { EXIT_CODES, STOPPED } from '../codes/exit-codes.ts';

const statusSchema = z.enum(['VALID', 'SUSPECT', 'INVALID']);

/** The spread of a figure over several runs. */
export const spreadSchema = z.strictObject({
  runs: z.number().int().nonnegative(),
  mean: z.number(),
  min: z.number(),
  max: z.number(),
  /** Standard deviation between runs; null for a single run. */
  deviation: z.number().nullable(),
  /** Student's 95 % interval of the mean; null for a single run. */
  low95: z.number().nullable(),
  high95: z.number().nullable(),
});

/** A started run, with any outcome. */
export const seriesRunSchema = z.strictObject({
  /** Number in chronological order, from 1. */
  number: z.number().int().positive(),
  startedAt: z.string(),
  seconds: z.number().nonnegative(),
  /** Exit code of `artillery run`, or `refused` if the run was refused without a result; see `endingOf`. */
  exitCode: z.number().int(),
  /** Path of its result.json, relative to this file's folder; null if there is none. */
  result: z.string().nullable(),
  status: statusSchema.nullable(),
  /** Why its figures are not used; null if they are. */
  problem: z.string().nullable(),
});

export type SeriesRun = z.infer<typeof seriesRunSchema>;
export type Spread = z.infer<typeof spreadSchema>;

export type Ending = 'measured' | 'refused' | 'stopped' | 'crashed';

/**
 * Counts the runs of a side that crashed or were refused, so that they have no result. 0 if all were refused or stopped, for example
 * because a package is missing.
 */
export function lostAmong(exitCodes: number[]): number {
  const endings = exitCodes.map(endingOf);
  if (endings.every((ending) => ending === 'refused' || ending === 'stopped')) return 0;
  return endings.filter((ending) => ending === 'refused' || ending === 'crashed').length;
}

/** Returns how a run ended, by its exit code: `measured` if it completed, with any verdict. */
export function endingOf(exitCode: number): Ending {
  const { worse, refused, suspect, invalid } = EXIT_CODES;
  if ([0, worse, suspect, invalid].includes(exitCode)) return 'measured';
  return exitCode === refused ? 'refused' : exitCode === STOPPED ? 'stopped' : 'crashed';
}
