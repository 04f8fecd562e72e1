/** Which runs of a series count: of those that others disturbed, and which were repeated, the one that was disturbed least. */
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
  const best = new Map<string, Run>();
  for (const run of runs) {
    if (!run.result) continue;
    const place = `${run.block} ${labelOf(run.levels)}`;
    const before = best.get(place);
    if (!before || shareOf(run) <= shareOf(before)) best.set(place, run);
  }
  const counted = new Set(best.values());
  return runs.map((run) => (run.result && !counted.has(run) ? { ...run, result: undefined } : run));
}

function shareOf({ result }: PlacedRun): number {
  return (result && disturbanceOf(result)?.share) ?? 0;
}
