/** Settings that are right each by itself, but not together. */
import { isStackFault } from '../../protocol/fault.ts';
import { isLoopback } from '../../protocol/machine/loopback.ts';
import { formatPath, type Path, type Problem } from '../../protocol/problems.ts';
import type { RoomPlan } from '../../protocol/rooms.ts';
import type { Flow } from './load/flow.ts';
import type { EngineOptions } from './options/engine-options.ts';
import type { Environment, PluginOptions } from './options/plugin-options.ts';
import { ENGINE, PLUGIN, type Script } from './script.ts';

/** What is known of the settings by then; undefined: it has mistakes of its own. */
export interface Known {
  script: Script;
  options: PluginOptions | undefined;
  variables: Environment;
  /** Of the Artillery engine that drives the load. */
  engine: string;
  external: boolean;
  target: string | undefined;
  /** Control ports are named: the server is not one of the run's own. */
  hasControl: boolean;
  /** For the control ports; empty without one. */
  token: string;
  profile: PluginOptions['profile'] | undefined;
  rooms: RoomPlan | undefined;
  flows: Flow[];
  engineOptions: EngineOptions | undefined;
}

/** Whether it is broken, where, and why. */
type Rule = [broken: boolean, at: Path, message: string];

export function crossProblems(known: Known): Problem[] {
  const { options } = known;
  const rules = [...variableRules(known), ...overTimeRules(known)];
  if (options) rules.push(...optionRules(known, options), ...faultRules(known, options));
  const broken = rules.filter(([isBroken]) => isBroken);
  return [
    ...broken.map(([, path, message]) => ({ path: formatPath(path), message })),
    ...(known.external ? [] : mixedEngines(known.script)),
  ];
}

const option = (...path: string[]): Path => ['config', 'plugins', PLUGIN, ...path];
const variable = (name: keyof Environment): Path => ['environment variable', name];

/** Variables that only some targets and engines can obey. */
function variableRules({ variables, hasControl, token, profile, target, engine }: Known): Rule[] {
  const isElsewhere = target !== undefined && !isLoopback(new URL(target).hostname);
  const isStack = !hasControl && profile !== 'embedded' && !isElsewhere;
  const isCluster = (variables.REDIS_NODES ?? 1) > 1;
  const foreign = 'it concerns our own engine only; the others have options of their own';
  return [
    [hasControl && token === '', variable('CAPACITY_TOKEN'), 'required for control'],
    [
      variables.TLS === true && !isStack,
      variable('TLS'),
      'only for the nginx of the stack that a run starts; for a server of your own, write an https:// target',
    ],
    [
      isCluster && variables.REDIS_URL !== undefined,
      variable('REDIS_NODES'),
      'not beside REDIS_URL: whether that Redis is a cluster shows by itself',
    ],
    [
      isCluster && variables.REDIS_URL === undefined && !isStack,
      variable('REDIS_NODES'),
      'only for the Redis of the stack that a run starts',
    ],
    [variables.TRANSPORTS !== undefined && engine !== ENGINE, variable('TRANSPORTS'), foreign],
    [variables.COMPRESSION !== undefined && engine !== ENGINE, variable('COMPRESSION'), foreign],
  ];
}

/** Options against the engine that drives the load, and against each other. */
function optionRules({ rooms, engine, hasControl, flows }: Known, options: PluginOptions): Rule[] {
  const { broadcasts, delivery, fault, workers } = options;
  const { count = 1, perConnection = 1 } = rooms ?? {};
  const others = engine !== ENGINE;
  const [roomsAt, partsAt] = [option('rooms'), option('broadcasts', 'byConnections')];
  const rules: Rule[] = [
    [perConnection > count, option('rooms', 'perConnection'), `there are only ${count} rooms (rooms.count, or ROOMS)`],
    [count > 1 && delivery !== undefined, roomsAt, "with `delivery`, the server's own event goes wherever it sends it"],
    [count > 1 && others, roomsAt, `only engine ${ENGINE} spreads its connections over rooms`],
    [others && delivery !== undefined, option('delivery'), `only engine ${ENGINE} tells who received what`],
    [
      hasControl && typeof workers === 'object' && workers.adminUi !== undefined,
      option('workers', 'adminUi'),
      'not beside `control`, whose workers count their connections themselves',
    ],
  ];
  if (broadcasts.byConnections === 0) return rules;
  // Broadcasts with fewer connections need some that leave when the run says so, and a ledger.
  return [
    ...rules,
    [others, partsAt, `only engine ${ENGINE} tells who received what`],
    [!stay(flows), partsAt, 'its virtual users must stay: end the flow with `hold: true`'],
    [delivery !== undefined, partsAt, 'not with `delivery`, whose event the server sends'],
    [fault !== undefined, partsAt, 'not with `fault`: the deployment is another one afterwards'],
  ];
}

/** What else a scenario has to be like for a planned fault to tell anything. */
function faultRules({ variables, engine, engineOptions, flows, hasControl }: Known, options: PluginOptions): Rule[] {
  const { fault, broadcasts, delivery, overTime, profile, workers } = options;
  if (!fault) return [];
  const [at, kind] = [option('fault'), option('fault', 'kind')];
  const ownServer = hasControl || typeof workers === 'object';
  const ofStack = isStackFault(fault.kind);
  const embedded = (variables.PROFILE ?? profile) === 'embedded';
  const count = variables.BROADCASTS ?? broadcasts.count;
  const lastAt = (count - 1) * broadcasts.interval;
  return [
    [engine !== ENGINE, at, `only engine ${ENGINE} tells which connections came back`],
    [
      engine === ENGINE && engineOptions !== undefined && !engineOptions.reconnection,
      at,
      `connections that drop would stay away: write config.engines.${ENGINE}.reconnection: true`,
    ],
    [overTime !== undefined, at, 'not with `overTime`, whose virtual users come and go by themselves'],
    [delivery !== undefined, at, 'not with `delivery`: its publishers would drop, too'],
    [!overTime && !stay(flows), at, 'its virtual users must stay: end the flow with `hold: true`'],
    [fault.kind === 'command' && !fault.command, at, 'needs a `kind`, or a `command`'],
    [
      fault.kind !== 'command' && fault.command !== undefined,
      option('fault', 'command'),
      'only for the kind `command`',
    ],
    [
      ofStack && ownServer,
      kind,
      'only for the stack that a run starts; for a server of your own, write the `command` that does it',
    ],
    [embedded && fault.kind === 'reload-nginx', kind, 'the profile `embedded` has no nginx'],
    [embedded && fault.kind === 'restart-redis', kind, 'the profile `embedded` has no Redis'],
    [
      !embedded && fault.kind === 'restart-redis' && variables.REDIS_URL !== undefined,
      kind,
      'the Redis of REDIS_URL is not the stack’s',
    ],
    [
      count > 0 && !overTime && fault.at >= lastAt,
      option('fault', 'at'),
      `the last broadcast is at ${lastAt} s, and those after the fault tell who missed what`,
    ],
  ];
}

/** Memory over time asks for virtual users that come and go, and for nothing that needs them to stay. */
function overTimeRules({ script, variables, flows, engine }: Known): Rule[] {
  // As the user wrote them: what has a default is not in the way.
  const given = (script.config.plugins?.[PLUGIN] ?? {}) as Record<string, unknown>;
  const isSet = (name: keyof Environment) => variables[name] !== undefined;
  if (given.overTime === undefined) {
    const only = 'only for scenarios with the option `overTime`';
    return [
      [isSet('COLLECT'), variable('COLLECT'), only],
      [isSet('DURATION'), variable('DURATION'), only],
      [isSet('CONNECTIONS') && given.fault === undefined, variable('CONNECTIONS'), `${only} or \`fault\``],
    ];
  }
  const gone = 'with `overTime`, nobody is left for it at the end of the run';
  const holding = flows.findIndex(({ holds }) => holds);
  return [
    ...['hold', 'broadcasts', 'delivery'].map((name): Rule => [given[name] !== undefined, option(name), gone]),
    ...(['HOLD', 'BROADCASTS'] as const).map((name): Rule => [isSet(name), variable(name), gone]),
    [engine !== ENGINE, option('overTime'), `only engine ${ENGINE} tells how many connections have left`],
    [
      isSet('CONNECTIONS') && isSet('DURATION'),
      variable('DURATION'),
      'CONNECTIONS is set, too; at a given rate, one follows from the other',
    ],
    [
      holding >= 0,
      ['scenarios', holding, 'flow'],
      'its virtual users never leave; in place of `hold`, let them `think` for some seconds',
    ],
  ];
}

/** Artillery deals arrivals out to scenarios at random: nobody could say how many connections to expect, or how fast. */
function mixedEngines({ config, scenarios = [] }: Script): Problem[] {
  // Those that never come do not count.
  const engines = scenarios.map(({ engine, weight }) =>
    Number(weight) === 0 ? null : (engine ?? config.engine ?? 'http'),
  );
  const [first, other] = new Set(engines.filter((engine) => engine !== null));
  if (first === undefined || other === undefined) return [];
  const path = formatPath(['scenarios', engines.indexOf(other), 'engine']);
  const message = `${other} beside ${first}: a measured run has one engine, since its arrivals are the connections that it expects; run the other scenario by an \`artillery run\` of its own`;
  return [{ path, message }];
}

/** Until the run releases them. */
function stay(flows: Flow[]): boolean {
  return flows.every(({ holds }) => holds);
}
