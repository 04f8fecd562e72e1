/**
 * Names that Artillery knows by itself. It ignores all others: `plugin:` leaves out what measures a run, and `wieght` gives a
 * scenario the wrong share of it.
 */
import { didYouMean, formatPath, type Path, type Problem } from '../../protocol/problems.ts';
import { ENSURE, ensureOf, hasThresholds } from './ensure.ts';
import { ENGINE, PLUGIN, type Script } from './script.ts';

const SCRIPT = ['config', 'scenarios', 'before', 'after'];
const CONFIG = [
  ...['target', 'phases', 'engine', 'engines', 'plugins', 'pluginsScope', 'ensure', 'environments', 'processor'],
  ...['payload', 'variables', 'defaults', 'http', 'tls', 'ws', 'socketio', 'includeFiles', 'statsInterval', 'bundling'],
];
const SCENARIO = [
  ...['name', 'engine', 'flow', 'weight', 'socketio', 'expect'],
  ...['beforeScenario', 'afterScenario', 'beforeRequest', 'afterResponse', 'onError'],
];

const MISPLACED = { path: formatPath(['config', ENGINE]), message: `write its options into config.engines.${ENGINE}` };

/** Other names can be a plugin's, so only those are mistakes that nearly are Artillery's. */
export function misspeltNames(script: Script): Problem[] {
  const { config, scenarios } = script;
  const [at, ensure] = ensureOf(script);
  const listed = Array.isArray(scenarios) ? scenarios : [];
  return [
    ...slipsIn(script, SCRIPT, []),
    ...slipsIn(config, CONFIG, ['config']),
    ...(Object.hasOwn(config, ENGINE) ? [MISPLACED] : []),
    ...listed.flatMap((scenario, index) => slipsIn(scenario, SCENARIO, ['scenarios', index])),
    ...slipsIn(ensure, ENSURE, at),
  ];
}

/** Whether a scenario names what drives, measures and checks it: Artillery runs it without, and says little of it. */
export function measuringProblems(script: Script): Problem[] {
  const { config, scenarios } = script;
  const slips = slipsIn(config.engines, [ENGINE], ['config', 'engines']);
  const problems = [...slipsIn(config.plugins, [PLUGIN], ['config', 'plugins']), ...slips];
  const say = (path: Path, message: string) => problems.push({ path: formatPath(path), message });
  const wanted = Array.isArray(scenarios) ? scenarios.map((one) => one?.engine ?? config.engine) : [];
  if (wanted.includes(ENGINE) && slips.length === 0 && !Object.hasOwn(config.engines ?? {}, ENGINE)) {
    say(['config', 'engines'], `Artillery loads no engine that is not named here: write \`${ENGINE}: {}\``);
  }
  for (const [index, engine] of wanted.entries()) {
    const place = ['scenarios', index, 'engine'];
    if (engine === undefined) say(place, `without it, Artillery sends HTTP requests: write \`engine: ${ENGINE}\``);
    else if (engine !== ENGINE && didYouMean(engine, [ENGINE])) say(place, `unknown engine, did you mean "${ENGINE}"?`);
  }
  if (hasThresholds(script) && config.plugins?.ensure === undefined) {
    say(['config', 'ensure'], 'nothing evaluates it: write `ensure: {}` into config.plugins, too');
  }
  return problems;
}

/** @returns whether Artillery would load the plugin */
export function isMeasured({ config }: Script): boolean {
  return Object.hasOwn(config.plugins ?? {}, PLUGIN);
}

function slipsIn(value: unknown, known: string[], at: Path): Problem[] {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  return names.flatMap((name) => {
    const meant = known.includes(name) ? '' : didYouMean(name, known);
    return meant === '' ? [] : [{ path: formatPath([...at, name]), message: `unknown name${meant}` }];
  });
}
