/**
 * Chooses the runs of a series that count: all failed runs, because their share matters, and the least disturbed of the
 * repeated runs.
 */
import { runEndingOf } from '../../protocol/documents/series-schema.ts';
import type { LevelCombination } from '../../protocol/documents/study-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { distortingContention } from '../figures/contention.ts';
import { combinationLabel, type StudyRun } from './summarize.ts';

interface MadeRun {
  run: { block: number; levels: LevelCombination; exitCode: number };
  result: Result | undefined;
}

/** Returns the runs in the same order. Runs that do not count or did not complete are returned without a result. */
export function countedRuns(runs: MadeRun[]): StudyRun[] {
  const measured = runs.filter(({ run, result }) => result && runEndingOf(run.exitCode) === 'measured');
  const [failed = [], others = []] = [true, false].map((has) =>
    measured.filter(({ result }) => result && hasFailed(result) === has),
  );
  const places = Map.groupBy(others, ({ run: { block, levels } }) => `${block} ${combinationLabel(levels)}`);
  const best = [...places.values()].map((all) =>
    all.reduce((best, made) => (shareOf(made) <= shareOf(best) ? made : best)),
  );
  const counted = new Set([...failed, ...best]);
  return runs.map((made) => {
    const { levels, exitCode } = made.run;
    return { levels, exitCode, result: counted.has(made) ? made.result : undefined };
  });
}

/** Returns whether other programs disturbed a run, so that it should be repeated. A failed run is not repeated. */
export function isWorthRepeating(result: Result): boolean {
  return distortingContention(result) !== undefined && !hasFailed(result);
}

/** Returns whether the deployment failed in a run. Findings that a busy machine caused do not count as failures. */
function hasFailed({ findings }: Result): boolean {
  return findings.some(
    ({ about, invalidates, fails }) => fails !== null || (about === 'deployment' && invalidates.includes('run')),
  );
}

function shareOf({ result }: MadeRun): number {
  return (result && distortingContention(result)?.share) ?? 0;
}
