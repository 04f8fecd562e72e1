/** Everything that is wrong with a script as far as this engine is concerned, found before any load. Pure. */

import { parseConfig } from '../script/engine-options.ts';
import { didYouMean, formatPath, type Path, type Problem, problemsOf } from '../script/problems.ts';
import { STEPS, verbOf } from './steps/index.ts';
import { ENGINE_NAME, type Scenario, type Script, usesThisEngine } from './types.ts';

export type { Problem } from '../script/problems.ts';
export { formatProblems } from '../script/problems.ts';

const HTTP_VERBS = new Set(['get', 'post', 'put', 'patch', 'delete', 'head', 'options']);
const STEP_OPTIONS = [
  ...['namespace', 'response', 'acknowledge', 'timeout', 'reconnect', 'on', 'channel', 'args', 'data', 'match'],
  ...['capture', 'json', 'value', 'as', 'strict', 'event', 'jitter', 'count', 'over', 'whileTrue', 'loopValue'],
  ...['loopElement', 'auth', 'query', 'extraHeaders', 'headers', 'path', 'transports', ...Object.keys(STEPS)],
];

/** @param script as Artillery hands it over, in the main thread or in a worker; @returns nothing wrong: an empty list */
export function validateScript(script: Script): Problem[] {
  const scenarios = script.scenarios ?? [];
  const problems = hookProblems(script);
  if (!scenarios.some((scenario) => usesThisEngine(scenario, script))) return problems;
  const parsed = parseConfig(script);
  if ('problems' in parsed) problems.push(...parsed.problems);
  scenarios.forEach((scenario, index) => {
    if (usesThisEngine(scenario, script)) problems.push(...scenarioProblems(scenario, ['scenarios', index], script));
  });
  return problems;
}

function hookProblems(script: Script): Problem[] {
  return (['before', 'after'] as const)
    .filter((hook) => usesThisEngine(script[hook], script))
    .map((hook) => ({
      path: formatPath([hook, 'engine']),
      message: `${ENGINE_NAME} does not run in hooks, which Artillery runs in its main thread: use engine: http there`,
    }));
}

function scenarioProblems(scenario: Scenario, at: Path, script: Script): Problem[] {
  const problems: Problem[] = [];
  for (const hook of ['beforeScenario', 'afterScenario'] as const) {
    for (const name of [scenario[hook] ?? []].flat()) problems.push(...functionProblems(name, [...at, hook], script));
  }
  if (!Array.isArray(scenario.flow)) {
    return [...problems, { path: formatPath([...at, 'flow']), message: 'expected a list of steps' }];
  }
  scenario.flow.forEach((step, index) => {
    const path = [...at, 'flow', index];
    // Lists that YAML references bring in; Artillery flattens one level of them.
    if (Array.isArray(step)) problems.push(...stepsProblems(step, path, script));
    else problems.push(...stepProblems(step, path, script));
  });
  return problems;
}

function stepsProblems(steps: unknown[], at: Path, script: Script): Problem[] {
  return steps.flatMap((step, index) => stepProblems(step, [...at, index], script));
}

function stepProblems(step: unknown, at: Path, script: Script): Problem[] {
  const problem = (message: string) => [{ path: formatPath(at), message }];
  if (typeof step !== 'object' || step === null || Array.isArray(step)) {
    return problem(`expected a step such as {think: 1}, not ${JSON.stringify(step)}`);
  }
  const verb = verbOf(step);
  const kind = verb === undefined ? undefined : STEPS[verb];
  if (verb === undefined || !kind) return problem(unknownStep(Object.keys(step)));
  const parsed = kind.schema.safeParse(step);
  const problems = parsed.success ? [] : problemsOf(parsed.error, at, STEP_OPTIONS);
  const fields = step as Record<string, unknown>;
  if (Array.isArray(fields.loop)) problems.push(...stepsProblems(fields.loop, [...at, 'loop'], script));
  for (const key of ['function', 'whileTrue']) {
    const name = fields[key];
    if (typeof name === 'string') problems.push(...functionProblems(name, [...at, key], script));
  }
  return problems;
}

function unknownStep(keys: string[]): string {
  const verbs = keys.filter((key) => key in STEPS);
  if (verbs.length > 1) return `one step cannot be ${verbs.join(' and ')}: write a list item for each`;
  const [key] = keys;
  if (key === undefined) return 'expected a step such as {think: 1}, not {}';
  if (HTTP_VERBS.has(key)) return `unknown step "${key}": for HTTP requests use a function step with fetch()`;
  return `unknown step "${key}"${didYouMean(key, Object.keys(STEPS))}`;
}

/** Only a worker has the processor's functions; the main thread knows its path. */
function functionProblems(name: string, at: Path, script: Script): Problem[] {
  const { processor } = script.config;
  const path = formatPath(at);
  if (processor === undefined) return [{ path, message: `there is no config.processor to find "${name}" in` }];
  if (typeof processor === 'string' || typeof processor[name] === 'function') return [];
  const known = Object.keys(processor).filter((key) => typeof processor[key] === 'function');
  return [{ path, message: `config.processor has no function "${name}"${didYouMean(name, known)}` }];
}
