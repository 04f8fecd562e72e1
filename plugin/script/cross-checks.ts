/** Settings that are right each by itself, but not together. */
import { isStackFault } from '../../protocol/fault.ts';
import { isLoopback } from '../../protocol/machine/loopback.ts';
import { formatPath, type Path, type Problem } from '../../protocol/problems.ts';
import type { Flow } from './load/flow.ts';
import type { EngineOptions } from './options/engine-options.ts';
import type { Environment } from './options/plugin-options.ts';
import type { RunOptions } from './options/variables.ts';
import { ENGINE, PLUGIN, type Script } from './script.ts';

/** What is known of the settings by then; undefined: it has mistakes of its own. */
interface Known {
  script: Script;
  /** As the variables change them. */
  options: RunOptions | undefined;
  variables: Environment;
  /** Of the Artillery engine that drives the load. */
  engine: string;
  external: boolean;
  flows: Flow[];
  engineOptions: EngineOptions | undefined;
}

/** What is wrong at a place, and whether it is. */
type Rules = [at: Path, wrong: Record<string, boolean>];

export function crossProblems(known: Known): Problem[] {
  const { options } = known;
  const rules = [...variableRules(known), ...overTimeRules(known), ...(known.external ? [] : engineRules(known))];
  if (options) rules.push(...optionRules(known, options), ...faultRules(known, options));
  return rules.flatMap(([at, wrong]) => {
    const messages = Object.keys(wrong).filter((message) => wrong[message]);
    return messages.map((message) => ({ path: formatPath(at), message }));
  });
}

const option = (...path: string[]): Path => ['config', 'plugins', PLUGIN, ...path];
const variable = (name: keyof Environment): Path => ['environment variable', name];

/** Variables that only some targets and engines can obey. */
function variableRules({ variables, options, engineOptions, engine }: Known): Rules[] {
  const { TLS = false, REDIS_NODES = 1, REDIS_URL, TRANSPORTS, COMPRESSION } = variables;
  const { control, profile } = options ?? {};
  const isElsewhere = engineOptions !== undefined && !isLoopback(new URL(engineOptions.connection.url).hostname);
  const isStack = !control && profile !== 'embedded' && !isElsewhere;
  const foreign = 'it concerns our own engine only; the others have options of their own';
  const others = engine !== ENGINE;
  const ofStack =
    'only for the nginx of the stack that a run starts; for a server of your own, write an https:// target';
  return [
    [variable('CAPACITY_TOKEN'), { 'required for control': control?.token === '' }],
    [variable('TLS'), { [ofStack]: TLS && !isStack }],
    [
      variable('REDIS_NODES'),
      {
        'not beside REDIS_URL: whether that Redis is a cluster shows by itself':
          REDIS_NODES > 1 && REDIS_URL !== undefined,
        'only for the Redis of the stack that a run starts': REDIS_NODES > 1 && REDIS_URL === undefined && !isStack,
      },
    ],
    [variable('TRANSPORTS'), { [foreign]: TRANSPORTS !== undefined && others }],
    [variable('COMPRESSION'), { [foreign]: COMPRESSION !== undefined && others }],
  ];
}

/** Options against the engine that drives the load, and against each other. */
function optionRules({ engine, flows, script }: Known, options: RunOptions): Rules[] {
  const { broadcasts, clients, delivery, fault, workers, control } = options;
  const { count, perConnection } = options.rooms;
  const [others, isOwnEvent] = [engine !== ENGINE, delivery !== undefined];
  const hasAdminUi = typeof workers === 'object' && workers.adminUi !== undefined;
  // These need some connections that leave when the run says so, and a ledger.
  const inParts = broadcasts.byConnections > 0;
  return [
    [
      option('rooms', 'perConnection'),
      { [`there are only ${count} rooms (rooms.count, or ROOMS)`]: perConnection > count },
    ],
    [
      option('rooms'),
      {
        "with `delivery`, the server's own event goes wherever the server sends it": count > 1 && isOwnEvent,
        [`only engine ${ENGINE} spreads its connections over rooms`]: count > 1 && others,
      },
    ],
    [
      option('clients'),
      {
        [`no scenario has the name ${clients}`]:
          clients !== undefined && !script.scenarios?.some(({ name }) => name === clients),
      },
    ],
    [option('delivery'), { [`only engine ${ENGINE} tells who received what`]: others && isOwnEvent }],
    [
      option('workers', 'adminUi'),
      { 'not beside `control`, whose workers count their connections themselves': control !== undefined && hasAdminUi },
    ],
    [
      option('broadcasts', 'byConnections'),
      {
        [`only engine ${ENGINE} tells who received what`]: inParts && others,
        'its virtual users must stay: end the flow with `hold: true`': inParts && !stay(flows),
        'not with `delivery`, whose event the server sends': inParts && isOwnEvent,
        'not with `fault`: the deployment is another one afterwards': inParts && fault !== undefined,
      },
    ],
  ];
}

/** What else a scenario has to be like for a planned fault to tell anything. */
function faultRules({ variables, engine, engineOptions, flows }: Known, options: RunOptions): Rules[] {
  const { fault, broadcasts, delivery, overTime, profile, workers, control } = options;
  if (!fault) return [];
  const ours = engine === ENGINE;
  const ownServer = control !== undefined || typeof workers === 'object';
  const embedded = profile === 'embedded';
  const isOtherRedis = !embedded && variables.REDIS_URL !== undefined;
  const lastAt = (broadcasts.count - 1) * broadcasts.interval;
  const comesBack = `connections that drop would stay away: write config.engines.${ENGINE}.reconnection: true`;
  return [
    [
      option('fault'),
      {
        [`only engine ${ENGINE} tells which connections came back`]: !ours,
        [comesBack]: ours && engineOptions !== undefined && !engineOptions.reconnection,
        'not with `overTime`, whose virtual users come and go by themselves': overTime !== undefined,
        'not with `delivery`: its publishers would drop, too': delivery !== undefined,
        'its virtual users must stay: end the flow with `hold: true`': !overTime && !stay(flows),
        'needs a `kind`, or a `command`': fault.kind === 'command' && !fault.command,
      },
    ],
    [
      option('fault', 'command'),
      { 'only for the kind `command`': fault.kind !== 'command' && fault.command !== undefined },
    ],
    [
      option('fault', 'kind'),
      {
        'only for the stack that a run starts; for a server of your own, write the `command` that does it':
          isStackFault(fault.kind) && ownServer,
        'the profile `embedded` has no nginx': embedded && fault.kind === 'reload-nginx',
        'the profile `embedded` has no Redis': embedded && fault.kind === 'restart-redis',
        'the Redis of REDIS_URL is not the stack’s': isOtherRedis && fault.kind === 'restart-redis',
      },
    ],
    [
      option('fault', 'at'),
      {
        [`the last broadcast is at ${lastAt} s, and those after the fault tell who missed what`]:
          broadcasts.count > 0 && fault.at >= lastAt,
      },
    ],
  ];
}

/** Memory over time asks for virtual users that come and go, and for nothing that needs them to stay. */
function overTimeRules({ script, variables, flows, engine }: Known): Rules[] {
  // As the user wrote them: what has a default is not in the way.
  const given = (script.config.plugins?.[PLUGIN] ?? {}) as Record<string, unknown>;
  const isSet = (name: keyof Environment) => variables[name] !== undefined;
  if (given.overTime === undefined) {
    const only = 'only for scenarios with the option `overTime`';
    return [
      [variable('COLLECT'), { [only]: isSet('COLLECT') }],
      [variable('DURATION'), { [only]: isSet('DURATION') }],
      [variable('CONNECTIONS'), { [`${only} or \`fault\``]: isSet('CONNECTIONS') && given.fault === undefined }],
    ];
  }
  const gone = 'with `overTime`, nobody is left for it at the end of the run';
  const both = 'CONNECTIONS is set, too; at a given rate, one follows from the other';
  const never = 'its virtual users never leave; in place of `hold`, let them `think` for some seconds';
  const holding = flows.findIndex(({ holds }) => holds);
  return [
    ...['hold', 'broadcasts', 'delivery'].map((name): Rules => [option(name), { [gone]: given[name] !== undefined }]),
    ...(['HOLD', 'BROADCASTS'] as const).map((name): Rules => [variable(name), { [gone]: isSet(name) }]),
    [option('overTime'), { [`only engine ${ENGINE} tells how many connections have left`]: engine !== ENGINE }],
    [variable('DURATION'), { [both]: isSet('CONNECTIONS') && isSet('DURATION') }],
    [['scenarios', holding, 'flow'], { [never]: holding >= 0 }],
  ];
}

/** Artillery deals arrivals out to scenarios at random: nobody could say how many connections to expect, or how fast. */
function engineRules({ script: { config, scenarios = [] } }: Known): Rules[] {
  // Those that never come do not count.
  const engines = scenarios.map(({ engine, weight }) =>
    Number(weight) === 0 ? null : (engine ?? config.engine ?? 'http'),
  );
  const [first, other = null] = new Set(engines.filter((engine) => engine !== null));
  const one = `${other} beside ${first}: a measured run has one engine, since its arrivals are the connections that it expects; run the other scenario by an \`artillery run\` of its own`;
  return [[['scenarios', engines.indexOf(other), 'engine'], { [one]: other !== null }]];
}

/** Until the run releases them. */
function stay(flows: Flow[]): boolean {
  return flows.every(({ holds }) => holds);
}
