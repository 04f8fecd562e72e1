/**
 * Finds misspelt, misplaced and missing names of this engine and plugin. Artillery would ignore them without an error.
 */
import { didYouMean, formatPath, type InputProblem, type ProblemPath } from '../../protocol/base/problems.ts';
import { hasThresholds } from './ensure.ts';
import { hintFor } from './options/hints.ts';
import { ENGINE_NAME, PLUGIN_NAME, type Script, usesOurEngine } from './script.ts';

/** Returns keys of `config` that are probably misspelt names of the engine or plugin. */
export function misspeltNames({ config }: Script): InputProblem[] {
  const lists = { engines: ENGINE_NAME, plugins: PLUGIN_NAME };
  const misspelt = Object.entries(lists).flatMap(([list, name]) =>
    Object.keys(config[list] ?? {}).flatMap((key) => {
      const meant = key === name ? '' : didYouMean(key, [name]);
      return meant === '' ? [] : [{ path: formatPath(['config', list, key]), message: `unknown name${meant}` }];
    }),
  );
  const message = `write its options into config.engines.${ENGINE_NAME}`;
  return Object.hasOwn(config, ENGINE_NAME)
    ? [...misspelt, { path: formatPath(['config', ENGINE_NAME]), message }]
    : misspelt;
}

/** Returns keys of `config` and of this engine's scenarios that nothing reads. */
export function unreadKeys(script: Script): InputProblem[] {
  const own = (script.scenarios ?? []).map((scenario) => (usesOurEngine(scenario, script) ? scenario : {}));
  const unreadIn = (within: string, at: ProblemPath, keys: object) =>
    Object.keys(keys).flatMap((key): InputProblem[] => {
      const hint = hintFor(key, within);
      if (hint === undefined) return [];
      const { text: message, rewrite } = hint;
      return [
        { path: formatPath([...at, key]), message, at: [...at, key], isUnknownKey: true, ...(rewrite && { rewrite }) },
      ];
    });
  const isOwn = own.some((scenario) => Object.keys(scenario).length > 0);
  return [
    ...(isOwn ? unreadIn('config', ['config'], script.config) : []),
    ...own.flatMap((scenario, index) => unreadIn('scenario', ['scenarios', index], scenario)),
  ];
}

/**
 * Returns the problems of entries that the script lacks. Without these entries, Artillery would not use the engine, or
 * not check the thresholds.
 */
export function measuringProblems(script: Script): InputProblem[] {
  const { config, scenarios } = script;
  const problems: InputProblem[] = [];
  const report = (path: ProblemPath, message: string) => problems.push({ path: formatPath(path), message });
  const engines = Array.isArray(scenarios) ? scenarios.map((scenario) => scenario?.engine ?? config.engine) : [];
  const isNear = Object.keys(config.engines ?? {}).some((name) => didYouMean(name, [ENGINE_NAME]) !== '');
  if (engines.includes(ENGINE_NAME) && !isNear) {
    report(['config', 'engines'], `Artillery loads only engines that are listed here: write \`${ENGINE_NAME}: {}\``);
  }
  for (const [index, engine] of engines.entries()) {
    const path = ['scenarios', index, 'engine'];
    if (engine === undefined && !(engines.includes(ENGINE_NAME) && sendsHttp(scenarios?.[index]?.flow)))
      report(path, `without it, Artillery sends HTTP requests: write \`engine: ${ENGINE_NAME}\``);
    else if (engine !== undefined && engine !== ENGINE_NAME && didYouMean(engine, [ENGINE_NAME]))
      report(path, `unknown engine, did you mean "${ENGINE_NAME}"?`);
  }
  if (hasThresholds(script) && config.plugins?.ensure === undefined) {
    report(['config', 'ensure'], 'no plugin evaluates it: write `ensure: {}` into config.plugins, too');
  }
  return problems;
}

const HTTP_STEPS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options', 'parallel'];
const STEPS_OF_BOTH = ['think', 'log', 'function', 'loop', 'count', 'over', 'whileTrue', 'loopValue', 'loopElement'];

/** Returns whether the steps send HTTP requests and contain no step of another engine. */
function sendsHttp(flow: unknown): boolean {
  const keys = [flow]
    .flat(2)
    .flatMap((step) => [...Object.keys(Object(step)), ...Object.keys(Object(Object(step).loop?.[0]))]);
  const known = [...HTTP_STEPS, ...STEPS_OF_BOTH];
  return keys.some((key) => HTTP_STEPS.includes(key)) && keys.every((key) => known.includes(key));
}

/** Returns whether the script uses the plugin. */
export function isMeasured({ config }: Script): boolean {
  return Object.hasOwn(config.plugins ?? {}, PLUGIN_NAME);
}
