/**
 * Makes the runs of a search. Chooses the level of each run (such as its number of connections), until the highest
 * level that the deployment sustains is found.
 */
import { join } from 'node:path';
import { z } from 'zod';
import {
  SEARCHED_QUANTITIES,
  type SearchEnd,
  type SearchPlan,
  type SearchResult,
  type SearchRun,
  searchSchema,
} from '../../../protocol/documents/search-schema.ts';
import { runEndingOf as endingOfRun } from '../../../protocol/documents/series-schema.ts';
import { judgeSearchRun } from '../../../report/search/judge.ts';
import { maxRunsLeft, NO_CEILING, nextSearchStep, restBeforeNextRun } from '../../../report/search/next-search-step.ts';
import { levelAmountText, type SearchedRun, searchAnswerOf } from '../../../report/search/search-answer.ts';
import { SEARCH_OUTCOME_WORDS, searchDocument } from '../../../report/search/search-page.ts';
import { computeSizing } from '../../../report/search/sizing.ts';
import { type Diagnosis, diagnose } from '../../doctor/diagnosis.ts';
import { readDoctorSituation } from '../../doctor/situation.ts';
import { scenarioName } from '../../run/measurements/run-id.ts';
import type { Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import type { NextRun, SeriesDefinition, StartedRun } from '../../series/series.ts';
import { invalidOptionError, parseOptions } from '../command.ts';
import { parseConditions } from '../parse-conditions.ts';
import { mergeLikeArtillery, readScenario, scenarioHash, settingsOfScript } from '../scenario-argument.ts';
import { scenarioScale } from './scale.ts';

const number = (schema: z.ZodNumber) => z.coerce.number('expected a number').pipe(schema);
const percent = number(z.number().nonnegative().lt(100)).transform((value) => value / 100);

const optionsSchema = z.strictObject({
  vary: z.enum(SEARCHED_QUANTITIES, `expected ${SEARCHED_QUANTITIES.join(', ')}`),
  environment: z.string().optional(),
  from: number(z.number().positive()).optional(),
  to: number(z.number().positive()).optional(),
  factor: number(z.number().gt(1)).default(2),
  tolerance: percent.refine((share) => share > 0, 'expected more than 0').default(0.05),
  times: number(z.number().int().min(1, 'expected 1 or more')).default(3),
  rest: number(z.number().nonnegative()).default(30),
  headroom: percent.default(0.3),
});

/** Options of the search as given on the command line. */
export type SearchOptions = z.input<typeof optionsSchema> & { until?: string[] };

type Tried = Pick<SearchRun, 'level' | 'purpose'>;

interface End {
  end: SearchEnd;
  /** Limit of this machine that ended the search. */
  limit: SearchResult['limit'];
}

const WHY: Record<SearchRun['purpose'], string> = {
  step: '',
  bisect: ', between what held and what broke',
  again: ', once more, as it broke',
  control: ', which held before: has the deployment recovered?',
  confirm: ', once more',
};

/**
 * Returns a search as a series of runs.
 * @param path path of the scenario
 * @param results folder in which the search creates its own folder
 * @param diagnosed returns the limits of this machine for a run with the given settings
 * @throws CapacityError CONFIG_INVALID, errors of readScenario and settingsOf
 */
export async function searchSeries(
  path: string,
  { until = [], ...given }: SearchOptions,
  results: string,
  diagnosed: (settings: Settings) => Promise<Pick<Diagnosis, 'fits' | 'highest' | 'limits'>> = async (settings) =>
    diagnose(await readDoctorSituation(settings)),
): Promise<SeriesDefinition<Tried, End, SearchResult> & { plan: SearchPlan }> {
  const { conditions, problems } = parseConditions(until, '--until ');
  const { vary, environment, from, to, rest, times, ...rules } = parseOptions(optionsSchema, given, 'search', problems);
  const script = await readScenario(path, environment);
  const settings = settingsOfScript(script);
  const scale = scenarioScale(settings, vary);
  const first = scale.snap(from ?? Math.min(scale.own, to ?? NO_CEILING));
  if (to !== undefined && first > to)
    throw invalidOptionError(`--to: the first level in this scenario is ${first}`, 'search');
  const plan: SearchPlan = {
    scenario: path,
    scenarioHash: await scenarioHash(path),
    environment: environment ?? null,
    target: settings.target,
    vary,
    until: conditions,
    from: first,
    to: to ?? null,
    restSeconds: rest,
    repeat: times - 1,
    ...rules,
  };
  const settingsAt = (level: number) =>
    settingsOfScript(mergeLikeArtillery(script, scale.overrides(level)) as Script, { ...process.env, ...scale.env });
  const judged = (made: StartedRun<Tried>) => judgedRun(made, plan);
  return {
    plan,
    kind: 'search',
    folder: join(results, `search-${scenarioName(path)}-${vary}`),
    schema: searchSchema,
    // Only these values identify a search. Its other settings may change when it continues, because its runs are judged
    // again.
    identityOf: ({ plan: { scenario, scenarioHash, environment, target, vary } }) => {
      return { scenario, 'the text of the scenario': scenarioHash.slice(0, 8), environment, target, vary };
    },

    /** Returns the next run of the search. The level of the run is within the limits of this machine. */
    next: async (runs, earlier): Promise<NextRun<Tried, End>> => {
      const tried = runs.map((made) => judged(made).run);
      const fresh = tried.length - earlier;
      const restSeconds = restBeforeNextRun(tried, plan.restSeconds);
      const planned = (key: Tried) => {
        const label = levelAmountText(key.level, vary) + WHY[key.purpose];
        return { key, label, left: maxRunsLeft(tried, plan), restSeconds };
      };
      const step = nextSearchStep(tried, fresh, plan, scale.snap);
      if ('end' in step) return { end: { ...step, limit: null } };
      const { fits, highest, limits } = await diagnosed(settingsAt(step.level));
      if (fits || highest === null) return planned(step);
      const [lowest] = limits;
      const limit = lowest ? { name: lowest.name, max: highest, raise: lowest.raise ?? '' } : null;
      const lower = vary === 'connections' ? nextSearchStep(tried, fresh, plan, scale.snap, highest) : undefined;
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
      return [
        SEARCH_OUTCOME_WORDS[outcome],
        ...(outcome === 'holds' ? [] : because.slice(0, 2).map(({ text }) => text)),
      ];
    },

    documentOf: (startedAt, made, ended) => {
      const runs = made.map(judged);
      const { end = null, limit = null } = ended ?? {};
      const answer = searchAnswerOf(plan, runs, end, limit);
      // The latest run at this level is used, because a deployment in production is warmed up, too.
      const held = runs.findLast(({ run }) => run.level === answer.held && run.outcome === 'holds')?.result;
      return {
        schemaVersion: 3,
        plan,
        startedAt,
        runs: runs.map(({ run }) => run),
        answer,
        limit,
        sizing: held && vary === 'connections' ? computeSizing(held, end === 'found', plan.headroom) : null,
      };
    },

    reportOf: searchDocument,
  };
}

/**
 * Returns the run with its outcome. Whenever the search starts or continues, its runs are judged again, because the
 * conditions may have changed.
 */
function judgedRun({ run, result }: StartedRun<Tried>, plan: SearchPlan): SearchedRun {
  const text = `${run.problem}; see logs/${run.number}.log`;
  const judgement =
    result && endingOfRun(run.exitCode) === 'measured'
      ? judgeSearchRun(result, plan)
      : { outcome: 'error' as const, blame: null, because: [{ code: null, text, isCause: false }] };
  return { run: { ...run, ...judgement }, result };
}
