/** Reads a study from its file or from the command line. Returns its plan and the commands of its runs. */
import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { formatProblems, type InputProblem, problemsOfZodError } from '../../../protocol/base/problems.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import {
  type Study,
  type StudyPlan,
  studyLevelsSchema,
  studyPlanSchema,
} from '../../../protocol/documents/study-schema.ts';
import { levelCombinations } from '../../../report/study/summarize.ts';
import { scenarioName } from '../../run/measurements/run-id.ts';
import { type StudySeries, studySeries } from '../../series/study-series.ts';
import { isObject, parseYaml, scenarioHash } from '../scenario-argument.ts';
import { levelProblems, SCENARIO_SETTING, SERVER_SETTING, settingsOfLevels } from './levels.ts';

export interface RequestedPlan {
  /** Second scenario to compare. Its runs alternate with the runs of the first scenario. */
  other?: string;
  vary?: StudyPlan['vary'];
  times?: number;
  /** Smallest change that the study must be able to detect, as a share of the reference value: 0.05 for 5 %. */
  detect?: number;
  hosts?: number | undefined;
  /** Further command-line arguments for `artillery run`. */
  args?: string[];
}

export interface RequestedStudy extends Pick<Study, 'name' | 'title' | 'plan' | 'scenarioHash'> {
  /** Folder to which the paths of scenarios are relative. The study's servers are started in it. */
  cwd: string;
}

const FIX = 'correct the lines above';
const TIMES = 5;
const MOST_TIMES = 20;

/**
 * Reads a study.
 * @param path path of a study's file, or of a scenario if options give the whole plan
 * @param asked options, which take precedence over the file
 * @throws CapacityError CONFIG_INVALID with all problems and their places in the YAML; NOT_INSTALLED
 */
export async function readStudy(path: string, asked: RequestedPlan = {}): Promise<RequestedStudy> {
  const { other, vary = {}, hosts, detect, times = detect === undefined ? undefined : MOST_TIMES, args = [] } = asked;
  const text = readText(path);
  if (text === undefined) {
    const fix = 'name an Artillery scenario, or a study: those of the pack are in scenarios/studies/';
    throw invalid(`there is no file ${path}`, fix);
  }
  const content = await parseYaml(text).catch((cause: unknown) => {
    throw cause instanceof CapacityError ? cause : invalid(`${path} is not YAML`, FIX, cause);
  });
  const isScenario = ['config', 'scenarios'].some((key) => Object.hasOwn(Object(content), key));
  if (other !== undefined && !isScenario) throw invalid(`${path} is not a scenario`, 'name two scenarios, or a study');
  const cwd = isScenario ? '.' : dirname(path);
  const sides = other === undefined ? {} : { [SCENARIO_SETTING]: [path, other] };
  const document = isScenario ? { scenario: path, vary: sides, repeat: TIMES } : content;
  const plan = isObject(document)
    ? {
        ...document,
        vary: isObject(document.vary) ? { ...document.vary, ...vary } : (document.vary ?? vary),
        ...(times !== undefined && { repeat: times }),
        ...(detect !== undefined && { detect }),
        ...(hosts !== undefined && { hosts }),
        ...(args.length > 0 && { args }),
      }
    : document;
  const scenario = pathIn(cwd, (document as Partial<StudyPlan> | null)?.scenario);
  const { data, problems } = parseStudyPlan(plan, readText(scenario));
  const varied = (data?.vary[SCENARIO_SETTING] ?? []).map((name) => pathIn(cwd, name));
  for (const [index, file] of varied.entries()) {
    if (readText(file) === undefined) {
      problems.push({ path: `vary.${SCENARIO_SETTING}[${index}]`, message: `there is no file ${file}` });
    }
  }
  if (!data || problems.length > 0) throw invalid(`${path} has mistakes\n${formatProblems(problems)}`, FIX);
  const files = other === undefined ? [path] : [path, other];
  return {
    name: [...files.map(scenarioName), ...Object.keys(vary)].join('-'),
    title: isScenario ? '' : (/^# *(.*)$/m.exec(text)?.[1]?.trim() ?? ''),
    plan: data,
    cwd,
    scenarioHash: await scenarioHash(scenario, ...varied),
  };
}

/**
 * Validates the plan of a study.
 * @param scenario text of the scenario; undefined if the file does not exist
 * @returns the plan; undefined if there are problems
 */
export function parseStudyPlan(
  document: unknown,
  scenario: string | undefined,
): { data: StudyPlan | undefined; problems: InputProblem[] } {
  const { data, error } = studyPlanSchema.safeParse(document);
  const problems = error ? problemsOfZodError(error, [], studyPlanSchema) : [];
  const { scenario: named, vary, servers = {} } = (document ?? {}) as Partial<StudyPlan>;
  if (typeof named === 'string' && scenario === undefined) {
    problems.push({ path: 'scenario', message: `there is no file ${named}, seen from the folder of the study` });
  }
  // The values of varied settings are checked even if other settings are wrong, so that all problems are reported
  // together.
  for (const [name, given] of Object.entries(vary ?? {})) {
    const levels = studyLevelsSchema.safeParse(given);
    if (levels.success) problems.push(...levelProblems(name, levels.data, scenario ?? '', servers));
  }
  if (Object.keys(servers).length > 0 && !Object.hasOwn(vary ?? {}, SERVER_SETTING)) {
    problems.push({
      path: `vary.${SERVER_SETTING}`,
      message: 'names none of the `servers`, so that none would be started',
    });
  }
  for (const [index, levels] of (data?.except ?? []).entries()) {
    const before = data && levelCombinations({ ...data, except: [] }).length;
    const after = data && levelCombinations({ ...data, except: [levels] }).length;
    if (before === after) problems.push({ path: `except[${index}]`, message: 'no combination of levels has these' });
  }
  const all = data && levelCombinations({ ...data, except: [] }).length;
  if (all === 1 && data?.detect !== undefined) {
    problems.push({ path: 'detect', message: 'nothing has two levels to compare' });
  } else if (all === 1 && data?.repeat === 1) {
    problems.push({ path: 'repeat', message: 'it is a single run, so there is nothing to compare' });
  } else if (data && all !== 1 && levelCombinations(data).length < 2) {
    problems.push({ path: 'except', message: 'leaves no two combinations to compare' });
  }
  if (data?.args?.some((arg) => arg.startsWith('--overrides'))) {
    problems.push({ path: 'args', message: 'put what `--overrides` changes into the scenario: the study needs it' });
  }
  return { data: problems.length === 0 ? data : undefined, problems };
}

/**
 * Returns a study as a series of runs.
 * @param results folder in which the series creates its own folder
 */
export function seriesOfStudy(study: RequestedStudy, results: string): StudySeries {
  const { plan, cwd } = study;
  return studySeries({
    ...study,
    folder: join(results, `study-${study.name}`),
    commandOf: (levels) => {
      const server = plan.servers[String(levels[SERVER_SETTING])];
      const scenario = pathIn(cwd, levels[SCENARIO_SETTING] ?? plan.scenario);
      const { env, overrides } = settingsOfLevels(levels);
      return {
        scenario,
        args: plan.args ?? [],
        overrides,
        env: { ...server?.env, ...env },
        ...(server && { server: { ...server, cwd } }),
      };
    },
  });
}

function pathIn(folder: string, path: unknown): string {
  return isAbsolute(String(path)) ? String(path) : join(folder, String(path));
}

function readText(path: string): string | undefined {
  return tryOrUndefined(() => readFileSync(path, 'utf8'));
}

function invalid(message: string, fix: string, cause?: unknown): CapacityError {
  return new CapacityError('CONFIG_INVALID', message, fix, { cause });
}
