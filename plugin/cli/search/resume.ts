/** What an earlier start of the same search has left. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Search, type SearchPlan, searchSchema } from '../../../protocol/documents/search.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { readResult } from '../../../report/read.ts';
import type { SearchedRun } from '../../../report/search/answer.ts';
import { judge } from '../../../report/search/judge.ts';

export const SEARCH = 'search.json';

interface Earlier {
  /** Undefined if this is the first start. */
  startedAt: string | undefined;
  runs: SearchedRun[];
}

/** What all runs of a search have in common; the other rules can change, and the same runs answer to them. */
const COMMON = ['scenario', 'scenarioHash', 'environment', 'target', 'vary'] as const satisfies (keyof SearchPlan)[];

/**
 * Judges the runs again, since the conditions can be others now. A run whose result is no longer there does not count.
 * @throws CapacityError SEARCH_CHANGED, SEARCH_UNREADABLE
 */
export function earlierRuns(folder: string, plan: SearchPlan): Earlier {
  const path = join(folder, SEARCH);
  if (!existsSync(path)) return { startedAt: undefined, runs: [] };
  const search = parse(path);
  const changed = COMMON.filter((key) => search.plan[key] !== plan[key]);
  if (changed.length > 0) {
    const lines = changed.map((key) =>
      key === 'scenarioHash'
        ? `  the text of ${plan.scenario} has changed`
        : `  ${key}: was ${search.plan[key]}, is ${plan[key]}`,
    );
    throw new CapacityError(
      'SEARCH_CHANGED',
      `the runs in ${folder} are of another search:\n${lines.join('\n')}`,
      'undo the change, or give the new search a folder of its own: --results <folder>',
    );
  }
  const there = search.runs.filter(({ result }) => result === null || existsSync(join(folder, result)));
  return {
    startedAt: search.startedAt,
    runs: there.map((run) => {
      const result = run.result === null ? undefined : readResult(join(folder, run.result));
      return { run: result && run.outcome !== 'error' ? { ...run, ...judge(result, plan) } : run, result };
    }),
  };
}

function parse(path: string): Search {
  try {
    return searchSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    const fix = 'restore the file, or start anew in another folder: --results <folder>';
    throw new CapacityError('SEARCH_UNREADABLE', `${path} is not a valid search.json`, fix, { cause });
  }
}
