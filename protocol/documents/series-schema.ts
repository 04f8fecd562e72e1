/** Schemas of a series of runs, shared by study.json and search.json. */
import { z } from 'zod';
import { EXIT_CODES, STOPPED_EXIT_CODE } from '../codes/exit-codes.ts';

const statusSchema = z.enum(['VALID', 'SUSPECT', 'INVALID']);

/** Spread of a figure over several runs. */
export const spreadSchema = z.strictObject({
  runs: z.number().int().nonnegative(),
  mean: z.number(),
  min: z.number(),
  max: z.number(),
  /** Standard deviation of the figure between runs; null for a single run. */
  deviation: z.number().nullable(),
  /** Student's 95 % interval of the mean; null for a single run. */
  low95: z.number().nullable(),
  high95: z.number().nullable(),
});

/** A run that belongs to a series, with any outcome. */
export const seriesRunSchema = z.strictObject({
  /** Number of the run in chronological order, from 1. */
  number: z.number().int().positive(),
  startedAt: z.string(),
  seconds: z.number().nonnegative(),
  /**
   * Exit code of `artillery run`. If the run was refused and has no result, it is the code of `refused`; see
   * `runEndingOf`.
   */
  exitCode: z.number().int(),
  /** Path of the run's result.json, relative to the folder of this file; null if there is none. */
  result: z.string().nullable(),
  status: statusSchema.nullable(),
  /** Reason why the run's figures are not used; null if they are used. */
  problem: z.string().nullable(),
});

export type SeriesRun = z.infer<typeof seriesRunSchema>;
export type Spread = z.infer<typeof spreadSchema>;

export type RunEnding = 'measured' | 'refused' | 'stopped' | 'crashed';

/**
 * Returns the number of runs that ended without a result, by a crash or a refusal. It is 0 if all runs were refused or
 * stopped, for example because a package is missing.
 */
export function countLostRuns(exitCodes: number[]): number {
  const endings = exitCodes.map(runEndingOf);
  if (endings.every((ending) => ending === 'refused' || ending === 'stopped')) return 0;
  return endings.filter((ending) => ending === 'refused' || ending === 'crashed').length;
}

/** Returns how a run ended, from its exit code. `measured` means that it completed, with any verdict. */
export function runEndingOf(exitCode: number): RunEnding {
  const { worse, refused, suspect, invalid } = EXIT_CODES;
  if ([0, worse, suspect, invalid].includes(exitCode)) return 'measured';
  return exitCode === refused ? 'refused' : exitCode === STOPPED_EXIT_CODE ? 'stopped' : 'crashed';
}
