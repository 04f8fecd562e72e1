/**
 * Names that Artillery knows by itself. It ignores all others: a slip such as `arivalRate` halves the load, and `plugin:` leaves
 * out what measures it.
 */
import { didYouMean, formatPath, type Path, type Problem } from '../../protocol/problems.ts';
import { ENSURE, ensureOf } from './ensure.ts';
import { phaseNames } from './load/phases.ts';
import type { Script } from './script.ts';

const SCRIPT = ['config', 'scenarios', 'before', 'after'];
const CONFIG = [
  ...['target', 'phases', 'engine', 'engines', 'plugins', 'pluginsScope', 'ensure', 'environments', 'processor'],
  ...['payload', 'variables', 'defaults', 'http', 'tls', 'ws', 'socketio', 'includeFiles', 'statsInterval', 'bundling'],
];
const SCENARIO = [
  ...['name', 'engine', 'flow', 'weight', 'socketio', 'expect'],
  ...['beforeScenario', 'afterScenario', 'beforeRequest', 'afterResponse', 'onError'],
];

/** Elsewhere than in phases and in `ensure`, a name can be a plugin's, so only those are mistakes that nearly are Artillery's. */
export function misspeltNames(script: Script): Problem[] {
  const { config, scenarios } = script;
  const { phases } = config;
  const [at, ensure] = ensureOf(script);
  return [
    ...unknownIn(script, SCRIPT, []).filter(isNear),
    ...unknownIn(config, CONFIG, ['config']).filter(isNear),
    ...each(phases, (phase, index) => unknownIn(phase, phaseNames, ['config', 'phases', index])),
    ...each(scenarios, (scenario, index) => unknownIn(scenario, SCENARIO, ['scenarios', index]).filter(isNear)),
    ...unknownIn(ensure, ENSURE, at),
  ];
}

function isNear({ message }: Problem): boolean {
  return message !== UNKNOWN;
}

const UNKNOWN = 'Artillery knows no such name';

function unknownIn(value: unknown, known: string[], at: Path): Problem[] {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const unknown = names.filter((name) => !known.includes(name));
  return unknown.map((name) => ({ path: formatPath([...at, name]), message: UNKNOWN + didYouMean(name, known) }));
}

function each(list: unknown, problems: (one: unknown, index: number) => Problem[]): Problem[] {
  return Array.isArray(list) ? list.flatMap(problems) : [];
}
