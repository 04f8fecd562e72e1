/** Runs one level after the other until the answer is known, and rewrites the documents of the search after each run. */
import { join } from 'node:path';
import { type Search, type SearchEnd, type SearchRun, searchSchema } from '../../../protocol/documents/search.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { renderSearch } from '../../../report/html/search.ts';
import { answerOf, type SearchedRun } from '../../../report/search/answer.ts';
import { judge } from '../../../report/search/judge.ts';
import { renderSearchMarkdown } from '../../../report/search/markdown.ts';
import { sizingOf } from '../../../report/search/sizing.ts';
import type { Diagnosis } from '../../doctor/diagnosis.ts';
import type { Settings } from '../../script/settings.ts';
import { wasMeasured } from '../runs/child-run.ts';
import { logged, makeSeriesFolders, runArtillery, writeDocuments } from '../runs/logged-run.ts';
import { nextStep, type Step } from './next.ts';
import type { SearchTask } from './plan.ts';
import { earlierRuns, SEARCH } from './resume.ts';

type Planned = Extract<Step, { level: number }>;

interface SearchRunner {
  /** As of `artilleryScript`. */
  artillery: string;
  task: SearchTask;
  /** Where the search has its folder. */
  results: string;
  /** Ends the current run as Ctrl-C would, and the search. */
  signal: AbortSignal;
  /** The limits of this machine for a run with these settings. */
  diagnose(settings: Settings): Promise<Diagnosis>;
  onStart(search: Search): void;
  onRun(number: number, planned: Planned, search: Search): void;
  onEnd(run: SearchRun): void;
}

interface End {
  end: SearchEnd;
  limit: Search['limit'];
}

/**
 * A level that the generator or an error ended is tried once more when the search is started again.
 * @throws CapacityError SEARCH_CHANGED, SEARCH_UNREADABLE, RESULTS_UNWRITABLE
 */
export async function runSearch(options: SearchRunner): Promise<{ folder: string; search: Search }> {
  const { task, signal, onStart, onRun, onEnd } = options;
  const { plan } = task;
  const folder = join(options.results, task.name);
  makeSeriesFolders(folder);
  const { startedAt = new Date().toISOString(), runs } = earlierRuns(folder, plan);
  const earlier = runs.length;
  let ended: End | undefined;
  const current = (): Search => searchOf(plan, startedAt, runs, ended);
  onStart(current());
  while (!signal.aborted && !ended) {
    const step = await planned(options, runs, runs.length - earlier);
    if ('end' in step) {
      ended = step;
      break;
    }
    const number = (runs.at(-1)?.run.number ?? 0) + 1;
    onRun(number, step, current());
    const made = await runLevel(options, folder, number, step);
    runs.push(made);
    write(folder, current(), runs);
    onEnd(made.run);
  }
  const search = current();
  write(folder, search, runs);
  return { folder, search };
}

/** @returns the next level, at most as high as the machine allows; or why there is none */
async function planned({ task, diagnose }: SearchRunner, runs: SearchedRun[], fresh: number): Promise<Planned | End> {
  const { plan, scale, settingsAt } = task;
  const tried = runs.map(({ run }) => run);
  const step = nextStep(tried, fresh, plan, scale.snap);
  if ('end' in step) return { ...step, limit: null };
  const { fits, highest, limits } = await diagnose(settingsAt(step.level));
  if (fits || highest === null) return step;
  const [lowest] = limits;
  const limit = lowest && { name: lowest.name, max: highest, raise: lowest.raise ?? '' };
  const lower = plan.vary === 'connections' ? nextStep(tried, fresh, plan, scale.snap, highest) : undefined;
  if (lower && 'level' in lower && lower.level <= highest) return lower;
  return { end: 'doctor', limit: limit ?? null };
}

async function runLevel(
  { artillery, task, signal }: SearchRunner,
  folder: string,
  number: number,
  { level, purpose }: Planned,
): Promise<SearchedRun> {
  const { plan, scale } = task;
  const run = {
    artillery,
    scenario: plan.scenario,
    args: [
      ...(plan.environment === null ? [] : ['--environment', plan.environment]),
      '--overrides',
      JSON.stringify(scale.overrides(level)),
    ],
    env: scale.env,
    signal,
  };
  const { made, result, error } = await logged(folder, number, (log) => runArtillery(folder, log, run));
  const judged: Pick<SearchRun, 'outcome' | 'blame' | 'because'> =
    result && wasMeasured(made.exitCode)
      ? judge(result, plan)
      : { outcome: 'error', blame: null, because: [signal.aborted ? 'stopped' : `${error}; see logs/${number}.log`] };
  return { run: { number, level, purpose, ...made, status: result?.verdict.status ?? null, ...judged }, result };
}

function searchOf(plan: SearchTask['plan'], startedAt: string, runs: SearchedRun[], ended: End | undefined): Search {
  const { end = null, limit = null } = ended ?? {};
  const answer = answerOf(plan, runs, end, limit);
  const best = resultAt(runs, answer.held);
  return {
    schemaVersion: 1,
    plan,
    startedAt,
    runs: runs.map(({ run }) => run),
    answer,
    limit,
    sizing: best ? sizingOf(best, end === 'found' && plan.vary === 'connections', plan.headroom) : null,
  };
}

/** The latest one: a server that has warmed up is what will be in service. */
function resultAt(runs: SearchedRun[], held: number | null): Result | undefined {
  return runs.findLast(({ run }) => run.level === held && run.outcome === 'holds')?.result;
}

function write(folder: string, search: Search, runs: SearchedRun[]): void {
  writeDocuments(folder, {
    [SEARCH]: `${JSON.stringify(searchSchema.parse(search), null, 1)}\n`,
    'search.md': renderSearchMarkdown(search),
    'search.html': renderSearch(search, runs),
  });
}
