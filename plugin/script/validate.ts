/** Finds all mistakes in the parts of a script that our engine reads, before any load. Pure. */
import { z } from 'zod';
import { didYouMean, formatPath, type Path, type Problem, problemsOf } from '../../protocol/problems.ts';
import { type StepTable, verbOf } from './load/flow.ts';
import { scenarioOptionsSchema } from './options/connect-options.ts';
import { optionProblems, parseEngineOptions } from './options/engine-options.ts';
import { ENGINE, type Scenario, type Script, usesOurEngine } from './script.ts';

const FUNCTION_HOOKS = ['beforeScenario', 'afterScenario', 'beforeRequest', 'afterResponse', 'onError'] as const;

/** All steps, and the names of all their options, to suggest one for an unknown name. */
interface Known {
  steps: StepTable;
  options: string[];
}

/**
 * @param script as Artillery hands it over, in the main thread or in a worker
 * @param steps by verb
 * @returns an empty list if the script is valid
 */
export function validateScript(script: Script, steps: StepTable): Problem[] {
  const scenarios = script.scenarios ?? [];
  const problems = hookProblems(script);
  if (!scenarios.some((scenario) => usesOurEngine(scenario, script))) return problems;
  const parsed = parseEngineOptions(script);
  if ('problems' in parsed) problems.push(...parsed.problems);
  const known = { steps, options: [...new Set(Object.values(steps).flatMap(({ schema }) => optionNames(schema)))] };
  scenarios.forEach((scenario, index) => {
    if (usesOurEngine(scenario, script)) {
      problems.push(...scenarioProblems(scenario, ['scenarios', index], script, known));
    }
  });
  return problems;
}

/** @returns the keys that the schema accepts, at all depths */
function optionNames(schema: z.ZodType): string[] {
  const { shape, innerType, element, in: input, options, items } = schema.def as unknown as Record<string, unknown>;
  const inside = [innerType, element, input, ...((options ?? []) as unknown[]), ...((items ?? []) as unknown[])];
  const keys = Object.entries((shape ?? {}) as Record<string, z.ZodType>);
  return [
    ...keys.flatMap(([key, value]) => [key, ...optionNames(value)]),
    ...inside.flatMap((one) => (one instanceof z.ZodType ? optionNames(one) : [])),
  ];
}

function hookProblems(script: Script): Problem[] {
  return (['before', 'after'] as const)
    .filter((hook) => usesOurEngine(script[hook], script))
    .map((hook) => ({
      path: formatPath([hook, 'engine']),
      message: `${ENGINE} cannot run in hooks, which Artillery runs in its main thread; use engine: http there`,
    }));
}

function scenarioProblems(scenario: Scenario, at: Path, script: Script, known: Known): Problem[] {
  const problems: Problem[] = [];
  for (const hook of FUNCTION_HOOKS) {
    for (const name of [scenario[hook] ?? []].flat()) problems.push(...functionProblems(name, [...at, hook], script));
  }
  const options = scenarioOptionsSchema.optional().safeParse(scenario.socketio);
  if (!options.success) problems.push(...optionProblems(options.error, [...at, 'socketio']));
  if (!Array.isArray(scenario.flow)) {
    return [...problems, { path: formatPath([...at, 'flow']), message: 'expected a list of steps' }];
  }
  scenario.flow.forEach((step, index) => {
    const path = [...at, 'flow', index];
    // Lists that YAML references bring in; Artillery flattens one level of them.
    if (Array.isArray(step)) problems.push(...stepsProblems(step, path, script, known));
    else problems.push(...stepProblems(step, path, script, known));
  });
  return problems;
}

function stepsProblems(steps: unknown[], at: Path, script: Script, known: Known): Problem[] {
  return steps.flatMap((step, index) => stepProblems(step, [...at, index], script, known));
}

function stepProblems(step: unknown, at: Path, script: Script, known: Known): Problem[] {
  const problem = (message: string) => [{ path: formatPath(at), message }];
  if (typeof step !== 'object' || step === null || Array.isArray(step)) {
    return problem(`expected a step such as {think: 1}, not ${JSON.stringify(step)}`);
  }
  const kind = known.steps[verbOf(step, known.steps) ?? ''];
  if (!kind) return problem(unknownStep(Object.keys(step), known.steps));
  const parsed = kind.schema.safeParse(step);
  const problems = parsed.success ? [] : problemsOf(parsed.error, at, known.options);
  const fields = step as Record<string, unknown>;
  const children = kind.childrenKey === undefined ? undefined : fields[kind.childrenKey];
  if (Array.isArray(children)) {
    problems.push(...stepsProblems(children, [...at, kind.childrenKey as string], script, known));
  }
  for (const key of kind.functionKeys ?? []) {
    for (const name of [fields[key]].flat()) {
      if (typeof name === 'string') problems.push(...functionProblems(name, [...at, key], script));
    }
  }
  return problems;
}

function unknownStep(keys: string[], steps: StepTable): string {
  const verbs = keys.filter((key) => key in steps);
  if (verbs.length > 1) return `a step cannot be both ${verbs.join(' and ')}: write a list item for each`;
  const [key] = keys;
  if (key === undefined) return 'expected a step such as {think: 1}, not {}';
  return `unknown step "${key}"${didYouMean(key, Object.keys(steps))}`;
}

/** Only a worker has the processor's functions; the main thread has only its path. */
function functionProblems(name: string, at: Path, script: Script): Problem[] {
  const { processor } = script.config;
  const path = formatPath(at);
  if (processor === undefined) return [{ path, message: `function "${name}" needs a config.processor` }];
  if (typeof processor === 'string' || typeof processor[name] === 'function') return [];
  const known = Object.keys(processor).filter((key) => typeof processor[key] === 'function');
  return [{ path, message: `config.processor has no function "${name}"${didYouMean(name, known)}` }];
}
