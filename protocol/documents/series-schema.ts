/** A series of runs, one after the other: what study.json and search.json share. */
import { z } from 'zod';
import { EXIT_CODES, STOPPED } from '../codes/exit-codes.ts';

const statusSchema = z.enum(['VALID', 'SUSPECT', 'INVALID']);

/** The spread of a figure over several runs. */
export const spreadSchema = z.strictObject({
  runs: z.number().int().nonnegative(),
  mean: z.number(),
  min: z.number(),
  max: z.number(),
  /** Standard deviation between runs; null of a single run. */
  deviation: z.number().nullable(),
  /** Student's 95 % interval of the mean; null of a single run. */
  low95: z.number().nullable(),
  high95: z.number().nullable(),
});

/** Every run that was started, whatever came of it. */
export const seriesRunSchema = z.strictObject({
  /** From 1, in the order in which they were made. */
  number: z.number().int().positive(),
  startedAt: z.string(),
  seconds: z.number().nonnegative(),
  /** Exit code of `artillery run`, or that of a refused run if it left no result; `endingOf` gives its meaning. */
  exitCode: z.number().int(),
  /** Path of its result.json, relative to the folder of this file; null if the run left none. */
  result: z.string().nullable(),
  status: statusSchema.nullable(),
  /** Why it contributes no figures; null if it does. */
  problem: z.string().nullable(),
});

export type SeriesRun = z.infer<typeof seriesRunSchema>;
export type Spread = z.infer<typeof spreadSchema>;

export type Ending = 'measured' | 'refused' | 'stopped' | 'crashed';

/**
 * @param exitCodes of the runs of one side
 * @returns how many of them ended without a result, although they were let to; none if all were refused, as where a package is missing
 */
export function lostAmong(exitCodes: number[]): number {
  const endings = exitCodes.map(endingOf);
  if (endings.every((ending) => ending === 'refused' || ending === 'stopped')) return 0;
  return endings.filter((ending) => ending === 'refused' || ending === 'crashed').length;
}

/** @returns how a run ended, by its exit code: `measured` if it came to its end, whatever the verdict */
export function endingOf(exitCode: number): Ending {
  const { worse, refused, suspect, invalid } = EXIT_CODES;
  if ([0, worse, suspect, invalid].includes(exitCode)) return 'measured';
  return exitCode === refused ? 'refused' : exitCode === STOPPED ? 'stopped' : 'crashed';
}
