/** A study: its file, and the runs that follow from it. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { levelsSchema, type Plan, planSchema } from '../../../protocol/documents/study.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { attempt } from '../../../protocol/helpers/attempt.ts';
import { formatProblems, type Problem, problemsOf } from '../../../protocol/problems.ts';
import { studyDocument } from '../../../report/study/document.ts';
import { combinationsOf } from '../../../report/study/summarize.ts';
import { scenarioName } from '../../run/measurements/run-id.ts';
import { type PlannedSeries, plannedSeries } from '../../series/planned.ts';
import { parseYaml, scenarioHash } from '../scenario.ts';
import { levelProblems, SCENARIO, SERVER, settingsOf } from './levels.ts';

export interface StudyFile {
  /** The file's, without its ending. */
  name: string;
  /** The first comment line; empty without one. */
  title: string;
  plan: Plan;
  /** The file's. */
  folder: string;
  /** Path of the scenario. */
  scenario: string;
  /** SHA-256 of the scenario's text, and of those that it varies. */
  scenarioHash: string;
}

const FIX = 'correct the lines above';

/** @throws CapacityError CONFIG_INVALID that lists every problem with its place in the YAML; NOT_INSTALLED */
export async function readStudyFile(path: string): Promise<StudyFile> {
  const text = readText(path);
  if (text === undefined)
    throw invalid(`there is no file ${path}`, 'name a study: those of the pack are in scenarios/studies/');
  const document = await parseYaml(text).catch((cause: unknown) => {
    throw cause instanceof CapacityError ? cause : invalid(`${path} is not YAML`, FIX, cause);
  });
  const scenario = join(dirname(path), String((document as Partial<Plan> | null)?.scenario));
  const scenarioText = readText(scenario);
  const { data: plan, problems } = parsePlan(document, scenarioText);
  const varied = (plan?.vary[SCENARIO] ?? []).map((name) => join(dirname(path), String(name)));
  for (const [index, file] of varied.entries()) {
    if (readText(file) === undefined) {
      problems.push({ path: `vary.${SCENARIO}[${index}]`, message: `there is no file ${file}` });
    }
  }
  if (!plan || problems.length > 0) throw invalid(`${path} has mistakes\n${formatProblems(problems)}`, FIX);
  return {
    name: scenarioName(path),
    title: /^# *(.*)$/m.exec(text)?.[1]?.trim() ?? '',
    plan,
    folder: dirname(path),
    scenario,
    scenarioHash: await scenarioHash(scenario, ...varied),
  };
}

/**
 * @param scenario its text; undefined if there is no such file
 * @returns the plan, unless there are problems
 */
export function parsePlan(
  document: unknown,
  scenario: string | undefined,
): { data: Plan | undefined; problems: Problem[] } {
  const { data, error } = planSchema.safeParse(document);
  const problems = error ? problemsOf(error, [], planSchema) : [];
  const { scenario: named, vary, servers = {} } = (document ?? {}) as Partial<Plan>;
  if (typeof named === 'string' && scenario === undefined) {
    problems.push({ path: 'scenario', message: `there is no file ${named}, seen from the folder of the study` });
  }
  // Not only if the rest is right, so that all problems are reported together.
  for (const [name, given] of Object.entries(vary ?? {})) {
    const levels = levelsSchema.safeParse(given);
    if (levels.success) problems.push(...levelProblems(name, levels.data, scenario ?? '', servers));
  }
  if (Object.keys(servers).length > 0 && !Object.hasOwn(vary ?? {}, SERVER)) {
    problems.push({ path: `vary.${SERVER}`, message: 'names none of the `servers`, so that none would be started' });
  }
  for (const [index, levels] of (data?.except ?? []).entries()) {
    const before = data && combinationsOf({ ...data, except: [] }).length;
    const after = data && combinationsOf({ ...data, except: [levels] }).length;
    if (before === after) problems.push({ path: `except[${index}]`, message: 'no combination of levels has these' });
  }
  if (data && combinationsOf({ ...data, except: [] }).length < 2) {
    problems.push({ path: 'vary', message: 'nothing has two levels to compare' });
  } else if (data && combinationsOf(data).length < 2) {
    problems.push({ path: 'except', message: 'leaves no two combinations to compare' });
  }
  return { data: problems.length === 0 ? data : undefined, problems };
}

export function studySeries(file: StudyFile, results: string): PlannedSeries {
  const { plan, scenario, folder: cwd } = file;
  return plannedSeries({
    ...file,
    kind: 'study',
    folder: join(results, `study-${file.name}`),
    endsWithFailure: false,
    commandOf: (levels) => {
      const server = plan.servers[String(levels.server)];
      const path = levels.scenario === undefined ? scenario : join(cwd, String(levels.scenario));
      return { scenario: path, args: [], ...settingsOf(levels), ...(server && { server: { ...server, cwd } }) };
    },
    reportOf: studyDocument,
  });
}

function readText(path: string): string | undefined {
  return attempt(() => readFileSync(path, 'utf8'));
}

function invalid(message: string, fix: string, cause?: unknown): CapacityError {
  return new CapacityError('CONFIG_INVALID', message, fix, { cause });
}
