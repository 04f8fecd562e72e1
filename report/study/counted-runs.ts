/**
 * Which runs of a series count: of those that others disturbed, and which were repeated, the one that was disturbed least. Those in
 * which the deployment failed count beside it: as many of all that were made say how often that happens.
 */
import type { Levels } from '../../protocol/documents/study.ts';
import type { Result } from '../../protocol/result/result.ts';
import { disturbanceOf } from '../figures/others.ts';
import { labelOf } from './summarize.ts';

interface PlacedRun {
  block: number;
  levels: Levels;
  /** Undefined of a run that did not come to its end. */
  result: Result | undefined;
}

/** @returns the same runs in the same order; those that do not count have no result */
export function countedRuns<Run extends PlacedRun>(runs: Run[]): Run[] {
  const [failed = [], others = []] = [true, false].map((has) =>
    runs.filter(({ result }) => result && hasFailed(result) === has),
  );
  const places = Map.groupBy(others, ({ block, levels }) => `${block} ${labelOf(levels)}`);
  const best = [...places.values()].map((all) =>
    all.reduce((best, run) => (shareOf(run) <= shareOf(best) ? run : best)),
  );
  const counted = new Set([...failed, ...best]);
  return runs.map((run) => (run.result && !counted.has(run) ? { ...run, result: undefined } : run));
}

/** @returns whether others distort the run, so that another one at its place tells more */
export function isWorthRepeating(result: Result): boolean {
  return disturbanceOf(result) !== undefined && !hasFailed(result);
}

/** The deployment failed; findings that a busy machine caused fail nothing. */
function hasFailed({ findings }: Result): boolean {
  return findings.some(
    ({ about, invalidates, fails }) => fails !== null || (about === 'deployment' && invalidates.includes('run')),
  );
}

function shareOf({ result }: PlacedRun): number {
  return (result && disturbanceOf(result)?.share) ?? 0;
}
