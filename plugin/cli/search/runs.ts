/** The runs of a search: one level after the other, until the answer is known. */
import { join } from 'node:path';
import {
  type Search,
  type SearchEnd,
  type SearchPlan,
  type SearchRun,
  searchSchema,
} from '../../../protocol/documents/search.ts';
import { endingOf as endingOfRun } from '../../../protocol/documents/series.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { amountText, answerOf, type SearchedRun } from '../../../report/search/answer.ts';
import { OUTCOMES, searchDocument } from '../../../report/search/document.ts';
import { judge } from '../../../report/search/judge.ts';
import { nextStep, restAfter, runsLeft } from '../../../report/search/next.ts';
import { sizingOf } from '../../../report/search/sizing.ts';
import { type Diagnosis, diagnose } from '../../doctor/diagnosis.ts';
import { readSituation } from '../../doctor/situation.ts';
import type { Settings } from '../../script/settings.ts';
import type { MadeRun, Next, Series } from '../../series/series.ts';
import type { SearchTask } from './plan.ts';

type Tried = Pick<SearchRun, 'level' | 'purpose'>;

interface End {
  end: SearchEnd;
  /** The limit that ended it before a run. */
  limit: Search['limit'];
}

const WHY: Record<SearchRun['purpose'], string> = {
  step: '',
  bisect: ', between what held and what broke',
  again: ', once more, as it broke',
  control: ', which held before: has the deployment recovered?',
  confirm: ', once more',
};

/**
 * @param results where it has its folder
 * @param diagnosed the limits of this machine for a run with these settings
 */
export function searchSeries(
  { name, plan, scale, settingsAt }: SearchTask,
  results: string,
  diagnosed: (settings: Settings) => Promise<Diagnosis> = async (settings) => diagnose(await readSituation(settings)),
): Series<Tried, End, Search> & { plan: SearchPlan } {
  const judged = (made: MadeRun<Tried>) => judgedRun(made, plan);
  return {
    plan,
    kind: 'search',
    folder: join(results, name),
    schema: searchSchema,
    // The other rules can change, and the same runs answer to them.
    identityOf: ({ plan: { scenario, scenarioHash, environment, target, vary } }) => {
      return { scenario, 'the text of the scenario': scenarioHash.slice(0, 8), environment, target, vary };
    },

    /** At most as high as the machine allows. */
    next: async (runs, earlier): Promise<Next<Tried, End>> => {
      const tried = runs.map((made) => judged(made).run);
      const fresh = tried.length - earlier;
      const label = ({ level, purpose }: Tried) => amountText(level, plan.vary) + WHY[purpose];
      const restSeconds = restAfter(tried, plan.restSeconds);
      const planned = (key: Tried) => ({ key, label: label(key), left: runsLeft(tried, plan), restSeconds });
      const step = nextStep(tried, fresh, plan, scale.snap);
      if ('end' in step) return { end: { ...step, limit: null } };
      const { fits, highest, limits } = await diagnosed(settingsAt(step.level));
      if (fits || highest === null) return planned(step);
      const [lowest] = limits;
      const limit = lowest ? { name: lowest.name, max: highest, raise: lowest.raise ?? '' } : null;
      const lower = plan.vary === 'connections' ? nextStep(tried, fresh, plan, scale.snap, highest) : undefined;
      if (lower && 'level' in lower && lower.level <= highest) return planned(lower);
      return { end: { end: 'doctor', limit } };
    },

    commandOf: ({ level }) => ({
      scenario: plan.scenario,
      args: plan.environment === null ? [] : ['--environment', plan.environment],
      overrides: scale.overrides(level),
      env: scale.env,
    }),

    outcomeOf: (made) => {
      const { outcome, because } = judged(made).run;
      return [OUTCOMES[outcome], ...(outcome === 'holds' ? [] : because.slice(0, 2))];
    },

    documentOf: (startedAt, made, ended) => searchOf(plan, startedAt, made.map(judged), ended),

    reportOf: searchDocument,
  };
}

/** Judged again at each start, since the conditions can be others then. */
function judgedRun({ run, result }: MadeRun<Tried>, plan: SearchPlan): SearchedRun {
  const because = `${run.problem}; see logs/${run.number}.log`;
  const judgement =
    result && endingOfRun(run.exitCode) === 'measured'
      ? judge(result, plan, run.level)
      : { outcome: 'error' as const, blame: null, because: [because] };
  return { run: { ...run, ...judgement }, result };
}

function searchOf(plan: SearchPlan, startedAt: string, runs: SearchedRun[], ended: End | undefined): Search {
  const { end = null, limit = null } = ended ?? {};
  const answer = answerOf(plan, runs, end, limit);
  const best = plan.vary === 'connections' ? resultAt(runs, answer.held) : undefined;
  return {
    schemaVersion: 2,
    plan,
    startedAt,
    runs: runs.map(({ run }) => run),
    answer,
    limit,
    sizing: best ? sizingOf(best, end === 'found', plan.headroom) : null,
  };
}

/** The latest one: a server that has warmed up is what will be in service. */
function resultAt(runs: SearchedRun[], held: number | null): Result | undefined {
  return runs.findLast(({ run }) => run.level === held && run.outcome === 'holds')?.result;
}
