/** Reads the scenarios of a script, and collects all their problems. */
import type { z } from 'zod';
import { valueAtPath } from '../../protocol/base/json-path.ts';
import {
  didYouMean,
  formatPath,
  type InputProblem,
  type ProblemPath,
  parseWithSchema,
} from '../../protocol/base/problems.ts';
import { combineFlows, type Flow, flowOfStep, type StepTable, stepName } from './load/flow.ts';
import { optionsWithoutTemplates, scenarioOptionsSchema } from './options/connect-options.ts';
import { addHints, hintFor } from './options/hints.ts';
import { fillHintText } from './options/rewrites.ts';
import { parseWrittenScalars, templatePaths } from './options/written-scalars.ts';
import { ENGINE_NAME, FUNCTION_HOOKS, type Scenario, type Script, usesOurEngine } from './script.ts';

/** Estimated seconds for all steps of a flow that do not wait. */
export const STEPS_SECONDS = 10;

const ONE_VALUE =
  'must be the same for all virtual users: write the value, or a template of `$env` or of a variable in `config` with one value';
const TEMPLATE = /\{\{\s*([\w$.]+)\s*\}\}/g;
const ENVIRONMENT_NAME = /^\$(?:env|processEnvironment)\.(.+)$/;

interface Scenarios {
  /**
   * Flows of the scenarios that run on this engine. If a third-party engine drives the load, flows of all scenarios.
   */
  flows: Flow[];
  /** Problems of the scenarios that run on this engine. */
  problems: InputProblem[];
}

/**
 * Reads the scenarios of a script.
 * @param script script in the main thread or in a worker; only a worker has the functions of the processor
 * @param steps steps by name
 */
export function readScenarios(script: Script, steps: StepTable, env = process.env): Scenarios {
  const scenarios = script.scenarios ?? [];
  const reader = readerOf(steps, script.config, env);
  const own = scenarios.flatMap((scenario, index) =>
    usesOurEngine(scenario, script) ? [{ scenario, flow: reader.read(scenario, ['scenarios', index]) }] : [],
  );
  const problems = [...hookProblems(script), ...addHints(reader.problems)];
  // Artillery never runs scenarios of weight 0.
  const used = own.filter(({ scenario }) => Number(scenario.weight) !== 0);
  if (own.length > 0) return { flows: (used.length > 0 ? used : own).map(({ flow }) => flow), problems };
  const externalReader = readerOf(steps, {}, env);
  return { flows: scenarios.map((scenario) => externalReader.read(scenario, [])), problems };
}

/**
 * Returns the problems of hooks (`before` and `after`) that run on this engine. A hook without `engine` runs on the
 * HTTP engine, even if `config.engine` is set.
 */
function hookProblems(script: Script): InputProblem[] {
  return (['before', 'after'] as const)
    .filter((hook) => script[hook]?.engine === ENGINE_NAME)
    .map((hook) => ({
      path: formatPath([hook, 'engine']),
      message: `${ENGINE_NAME} cannot run in hooks, which Artillery runs in its main thread; use engine: http there`,
    }));
}

function readerOf(steps: StepTable, { processor, variables }: Script['config'], env: NodeJS.ProcessEnv) {
  const fill = fillerOf(variables, env);
  const problems: InputProblem[] = [];
  const report = (at: ProblemPath, message: string) => void problems.push({ path: formatPath(at), message, at });

  function read(scenario: Scenario, at: ProblemPath): Flow {
    for (const hook of FUNCTION_HOOKS) checkFunctions(scenario[hook], [...at, hook]);
    if (scenario.socketio) fillIn(scenario.socketio, scenarioOptionsSchema);
    const options = parseWithSchema(scenarioOptionsSchema, scenario.socketio ?? {}, [...at, 'socketio'], problems);
    if (!Array.isArray(scenario.flow)) report([...at, 'flow'], 'expected a list of steps');
    const flow = readSteps(scenario.flow, [...at, 'flow'], true);
    return {
      ...flow,
      staySeconds: flow.staySeconds + STEPS_SECONDS,
      connect: [optionsWithoutTemplates(options ?? {}), ...flow.connect],
    };
  }

  /**
   * Reads a list of steps.
   * @param flattens whether the list may contain lists of steps, as YAML references produce them; Artillery flattens
   * one level
   */
  function readSteps(given: unknown, at: ProblemPath, flattens: boolean): Flow {
    if (!Array.isArray(given)) return combineFlows([]);
    const flows = given.map((step, index) =>
      flattens && Array.isArray(step) ? readSteps(step, [...at, index], false) : readStep(step, [...at, index]),
    );
    return combineFlows(flows);
  }

  function readStep(step: unknown, at: ProblemPath): Flow {
    const kind = steps[stepName(step, steps) ?? ''];
    if (!kind) {
      problems.push({ path: formatPath(at), ...unknownStep(step, at, steps) });
      return combineFlows([]);
    }
    const fields = step as Record<string, unknown>;
    fillIn(fields, kind.schema);
    const unfilled = templatePaths(kind.schema, step);
    for (const path of unfilled) report([...at, ...(path as ProblemPath)], ONE_VALUE);
    const spec = unfilled.length > 0 ? undefined : parseWithSchema(kind.schema, step, at, problems);
    const { childrenKey = '', functionKeys = [] } = kind;
    const inside = readSteps(fields[childrenKey], [...at, childrenKey], false);
    for (const key of functionKeys) checkFunctions(valueAtPath(fields, key.split('.')), [...at, ...key.split('.')]);
    return spec === undefined ? combineFlows([]) : flowOfStep(kind, spec, inside);
  }

  /** Templates are filled in the step object itself, because the step is read again when the flow runs. */
  function fillIn(fields: object, schema: z.ZodType): void {
    Object.assign(fields, parseWrittenScalars(schema, fields, fill));
  }

  function checkFunctions(names: unknown, at: ProblemPath): void {
    for (const name of [names ?? []].flat()) {
      if (typeof name !== 'string') continue;
      if (processor === undefined) report(at, `function "${name}" needs a config.processor`);
      if (typeof processor !== 'object') continue;
      const known = Object.keys(processor).filter((key) => typeof processor[key] === 'function');
      if (!known.includes(name)) report(at, `config.processor has no function "${name}"${didYouMean(name, known)}`);
      else if (/\.sockets\b|\bsockets\b[^{}:]*\}\s*[=,)]/.test(String(processor[name]))) {
        report(
          at,
          `"${name}" uses context.sockets, but other processes hold them: receive events with \`on\` or \`waitFor\``,
        );
      }
    }
  }

  return { problems, read };
}

/** Returns a function that fills templates in a text, if their value is the same for all virtual users. */
function fillerOf(variables: unknown, env: NodeJS.ProcessEnv): (text: string) => string {
  const fixedValue = (name: string) => {
    const [, key] = ENVIRONMENT_NAME.exec(name) ?? [];
    if (key !== undefined) return env[key];
    const [value, ...moreValues] = [Object(variables)[name] ?? []].flat();
    return moreValues.length > 0 ? undefined : value;
  };
  return (text) => text.replace(TEMPLATE, (template, name) => String(fixedValue(name) ?? template));
}

function unknownStep(step: unknown, at: ProblemPath, steps: StepTable): Omit<InputProblem, 'path'> {
  const example = 'expected a step such as {think: 1}, not';
  if (typeof step !== 'object' || step === null || Array.isArray(step)) {
    const message = `${example} ${Array.isArray(step) ? 'a list' : step === null ? 'nothing' : `a ${typeof step}`}`;
    return { message, at };
  }
  const keys = Object.keys(step);
  const verbs = keys.filter((key) => Object.hasOwn(steps, key));
  if (verbs.length > 1) {
    return { message: `a step cannot be both ${verbs.join(' and ')}: write a list item for each`, at };
  }
  const key = keys.find((name) => hintFor(name, 'step') !== undefined) ?? keys[0];
  if (key === undefined) return { message: `${example} {}`, at };
  const hint = hintFor(key, 'step');
  const meant = hint ? `: ${fillHintText(hint, Object(step)[key])}` : didYouMean(key, Object.keys(steps));
  return {
    message: `unknown step "${key}"${meant}`,
    at: [...at, key],
    isUnknownKey: true,
    ...(hint?.rewrite && { rewrite: hint.rewrite }),
  };
}
