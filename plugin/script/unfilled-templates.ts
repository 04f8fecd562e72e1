/**
 * Finds templates in flows for which no value is set. In place of such a template, Artillery would send nothing, or the
 * word `undefined`.
 */
import { didYouMean, formatPath, type InputProblem, type ProblemPath } from '../../protocol/base/problems.ts';
import { hintFor } from './options/hints.ts';
import { type OptionHint, rewriteTemplates } from './options/rewrites.ts';
import { FUNCTION_HOOKS, PLUGIN_NAME, type Scenario, type Script, usesOurEngine } from './script.ts';

/** Names of variables and functions that Artillery gives to every virtual user. */
const BUILT_IN = [
  'target',
  '$environment',
  '$processEnvironment',
  '$env',
  '$testId',
  '$dirname',
  '$scenarioFile',
  '$uuid',
];
const FUNCTIONS = ['$randomNumber', '$randomString', '$template'];
/** Plugins that are known not to set variables. */
const PLUGINS = [PLUGIN_NAME, 'ensure', 'expect', 'apdex', 'metrics-by-endpoint', 'publish-metrics'];
/** Keys of steps that call functions. A function can set any variable. */
const FUNCTION_KEYS = ['function', 'whileTrue', 'beforeRequest', 'afterResponse', 'onError'];
const HOOKS = FUNCTION_HOOKS.filter((hook) => hook !== 'afterScenario');

const TEMPLATE = /\{\{\{?\s*([^{}]+?)\s*\}\}/g;
const CALL = /^(\$\w+)\s*\(/;
const VARIABLE = /^[\s$\w.[\]'"-]+$/;
const ENVIRONMENT_NAME = /^\$(?:env|processEnvironment)\.(\w+)$/;

interface Found {
  path: ProblemPath;
  key: string;
  value: unknown;
}

/** Returns the problems of templates that no payload, variable, capture, loop or function fills. */
export function unfilledTemplates(script: Script, env: NodeJS.ProcessEnv): InputProblem[] {
  const { config, scenarios = [], before } = script;
  // Functions of other plugins or of `before` could set any variable, so no template is reported.
  const isOpen =
    Object.keys(config.plugins ?? {}).some((name) => !PLUGINS.includes(name)) || (before && hasFunction(before));
  if (isOpen) return [];
  const known = [
    ...BUILT_IN,
    ...Object.keys(config.variables ?? {}),
    ...payloadNames(config.payload),
    ...namesSetIn(before),
  ];
  return scenarios.flatMap((scenario, index) => {
    if (!usesOurEngine(scenario, script) || HOOKS.some((hook) => scenario[hook] !== undefined)) return [];
    const names = new Set([...known, ...namesSetIn(scenario.flow)]);
    return partsOf(scenario).flatMap(([path, part]) =>
      walk(part, ['scenarios', index, ...path]).flatMap((found) => problemsAt(found, names, env)),
    );
  });
}

/** Returns the parts of a scenario whose templates are filled before the flow has called any function. */
function partsOf({ socketio, flow = [] }: Scenario): [ProblemPath, unknown][] {
  const steps = Array.isArray(flow) ? flow : [];
  const first = steps.findIndex(hasFunction);
  return [
    // Templates in `socketio` are filled when a step connects.
    ...(first === -1 ? ([[['socketio'], socketio]] as [ProblemPath, unknown][]) : []),
    ...steps
      .slice(0, first === -1 ? steps.length : first)
      .map((step, index): [ProblemPath, unknown] => [['flow', index], step]),
  ];
}

function problemsAt({ path, key, value }: Found, names: Set<string>, env: NodeJS.ProcessEnv): InputProblem[] {
  const texts = typeof value === 'string' ? [key, value] : [key];
  const templates = texts.flatMap((text) => [...text.matchAll(TEMPLATE)].map(([, inner]) => inner as string));
  const { loop, over } = Object(value);
  const lists = loop !== undefined && typeof over === 'string' ? [over] : [];
  const report = (at: ProblemPath) => (inner: string) => {
    const { text: message, rewrite } = whyUnfilled(inner, names, env) ?? {};
    const change = rewriteTemplates(rewrite, inner);
    return message === undefined
      ? []
      : [{ path: formatPath(at), message, at, ...(change && { rewrite: change }), unfilled: inner }];
  };
  return [...templates.flatMap(report(path)), ...lists.flatMap(report([...path, 'over']))];
}

/** Returns the problem of a template; undefined if it has a value, or if Artillery treats it as plain text. */
function whyUnfilled(inner: string, names: Set<string>, env: NodeJS.ProcessEnv): OptionHint | undefined {
  const [, call] = CALL.exec(inner) ?? [];
  if (call !== undefined) {
    if (FUNCTIONS.includes(call)) return undefined;
    const hint = hintFor(call, 'template');
    return {
      ...hint,
      text: `Artillery has no function ${call}${hint ? `: ${hint.text}` : didYouMean(call, FUNCTIONS)}`,
    };
  }
  if (!VARIABLE.test(inner)) return undefined;
  const [, variable] = ENVIRONMENT_NAME.exec(inner) ?? [];
  if (variable !== undefined) {
    return env[variable] === undefined
      ? { text: `the environment variable ${variable} is not set: set it (it may be empty)` }
      : undefined;
  }
  const [root = ''] = inner.split(/[.[]/);
  if (names.has(inner) || names.has(root)) return undefined;
  const meant = didYouMean(root, [...names]);
  const add = `write it in config.variables or in \`fields\` of config.payload, or capture it: capture: {json: …, as: ${root}}`;
  const hint = hintFor(root, 'template');
  const fix = hint?.text ?? (meant ? meant.slice(2) : add);
  return { ...hint, text: `no payload, variable, capture, loop or function sets ${root}: ${fix}` };
}

/** Returns the names of variables that captures and loops set. */
function namesSetIn(value: unknown): string[] {
  return walk(value, []).flatMap(({ key, value: inside }) => {
    const { loop, over, loopValue = '$loopCount', loopElement = '$loopElement' } = Object(inside);
    const counted = loop === undefined ? [] : [loopValue, ...(over === undefined ? [] : [loopElement])];
    const captured = key === 'capture' ? [inside].flat().map((one) => Object(one).as) : [];
    // Artillery stores the argument that a step checks with `match` or `capture` in the variable `$`.
    return [...counted, ...captured, ...(['match', 'capture'].includes(key) ? ['$'] : [])].map(String);
  });
}

function payloadNames(payload: unknown): string[] {
  return [payload ?? []].flat().flatMap((one) => [Object(one).fields ?? [], Object(one).name ?? []].flat().map(String));
}

function hasFunction(value: unknown): boolean {
  return walk(value, []).some(({ key }) => FUNCTION_KEYS.includes(key) || HOOKS.includes(key as never));
}

/** Returns the value and all values inside it, each with its path. */
function walk(value: unknown, path: ProblemPath): Found[] {
  const own = { path, key: String(path.at(-1) ?? ''), value };
  if (typeof value !== 'object' || value === null) return [own];
  const isList = Array.isArray(value);
  return [own, ...Object.entries(value).flatMap(([key, inner]) => walk(inner, [...path, isList ? Number(key) : key]))];
}
