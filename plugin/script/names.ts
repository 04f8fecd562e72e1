/**
 * Names that Artillery knows by itself. It ignores all others: `plugin:` leaves out what measures a run, and `wieght` gives a
 * scenario the wrong share of it.
 */
import { didYouMean, formatPath, type Path, type Problem } from '../../protocol/problems.ts';
import { hasThresholds } from './ensure.ts';
import { ENGINE, FUNCTION_HOOKS, PLUGIN, type Script } from './script.ts';

/** Those below a name, also of each element of a list; null where anything may be there. */
interface Names {
  [name: string]: Names | null;
}

const named = (...names: string[]): Names => Object.fromEntries(names.map((name) => [name, null]));

const FLOW: Names = {
  ...named('name', 'engine', 'flow', 'weight', 'socketio', 'expect'),
  ...named(...FUNCTION_HOOKS),
};
const DEFAULTS: Names = { ...named('headers', 'cookie', 'strictCapture'), think: named('jitter') };
const ENSURE: Names = {
  ...named('thresholds', 'maxErrorRate', 'min', 'max', 'median', 'p95', 'p99'),
  conditions: named('expression', 'strict'),
};
const ENVIRONMENT: Names = {
  ...named('target', 'phases', 'engine', 'pluginsScope', 'processor', 'variables', 'ws', 'socketio'),
  ...named('includeFiles', 'statsInterval'),
  bundling: named('external'),
  defaults: DEFAULTS,
  engines: named(ENGINE),
  ensure: ENSURE,
  http: {
    ...named('timeout', 'maxSockets', 'pool', 'extendedMetrics', 'cookieJarOptions', 'distributedTracing'),
    defaults: DEFAULTS,
  },
  payload: {
    ...named('path', 'fields', 'order', 'skipHeader', 'delimiter', 'cast', 'skipEmptyLines', 'loadAll', 'name'),
  },
  plugins: { ...named(PLUGIN), ensure: ENSURE },
  tls: named('rejectUnauthorized'),
};
/** Stands for every name. */
const EACH = '*';
const SCRIPT: Names = {
  config: { ...ENVIRONMENT, environments: { [EACH]: ENVIRONMENT } },
  scenarios: FLOW,
  before: FLOW,
  after: FLOW,
};

const MISPLACED = { path: formatPath(['config', ENGINE]), message: `write its options into config.engines.${ENGINE}` };

/** Other names can be a plugin's, so only those are mistakes that nearly are Artillery's. */
export function misspeltNames(script: Script): Problem[] {
  return [...slipsIn(script, SCRIPT, []), ...(Object.hasOwn(script.config, ENGINE) ? [MISPLACED] : [])];
}

/** Whether a scenario names what drives, measures and checks it: Artillery runs it without, and says little of it. */
export function measuringProblems(script: Script): Problem[] {
  const { config, scenarios } = script;
  const problems: Problem[] = [];
  const say = (path: Path, message: string) => problems.push({ path: formatPath(path), message });
  const wanted = Array.isArray(scenarios) ? scenarios.map((one) => one?.engine ?? config.engine) : [];
  const isNear = Object.keys(config.engines ?? {}).some((name) => didYouMean(name, [ENGINE]) !== '');
  if (wanted.includes(ENGINE) && !isNear) {
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

function slipsIn(value: unknown, known: Names, at: Path): Problem[] {
  if (Array.isArray(value)) return value.flatMap((one, index) => slipsIn(one, known, [...at, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, below]) => {
    const names = known[EACH] ?? (Object.hasOwn(known, name) ? known[name] : undefined);
    if (names !== undefined) return names === null ? [] : slipsIn(below, names, [...at, name]);
    const meant = didYouMean(name, Object.keys(known));
    return meant === '' ? [] : [{ path: formatPath([...at, name]), message: `unknown name${meant}` }];
  });
}
