/** Settings that are right each by itself, but not together. */

import { formatPath, type Path, type Problem } from '../../protocol/base/problems.ts';
import { isStackFault } from '../../protocol/wire/fault-kinds.ts';
import type { Flow } from './load/flow.ts';
import type { EngineOptions } from './options/engine-options.ts';
import type { Environment, RunOptions } from './options/plugin-options.ts';
import { hasSources } from './options/worker-sources.ts';
import { ENGINE, PLUGIN, type Script } from './script.ts';

/** Settings that have no mistakes of their own. */
interface Known {
  script: Script;
  /** As the variables change them. */
  options: RunOptions;
  variables: Environment;
  /** The Artillery engine that drives the load. */
  engine: string;
  flows: Flow[];
  engineOptions: EngineOptions;
  /** The scenario measures the bundled deployment. */
  hasStack: boolean;
}

type Rule = [at: Path, isWrong: boolean | undefined, message: string];

export function crossProblems(known: Known): Problem[] {
  const rules = [...engineRules(known), ...stackRules(known), ...optionRules(known)];
  rules.push(...faultRules(known), ...overTimeRules(known));
  return rules.flatMap(([at, isWrong, message]) => (isWrong ? [{ path: formatPath(at), message }] : []));
}

const NO_STACK = `write config.plugins.${PLUGIN}.stack: {} to measure that`;
const option = (...path: string[]): Path => ['config', 'plugins', PLUGIN, ...path];
const variable = (name: keyof Environment): Path => ['environment variable', name];

/** What the engine has to be for it. */
function engineRules({ script, variables, options, engine }: Known): Rule[] {
  const { TRANSPORTS, COMPRESSION } = variables;
  const { rooms, delivery, fault, overTime } = options;
  const isOther = engine !== ENGINE;
  const ours = `only engine ${ENGINE} can do that`;
  // Artillery deals arrivals out at random. Scenarios that never come do not count.
  const engines = (script.scenarios ?? []).map(({ engine: own = script.config.engine ?? 'http', weight }) =>
    Number(weight) === 0 ? null : own,
  );
  const [first, other = null] = new Set(engines.filter((one) => one !== null));
  return [
    [variable('TRANSPORTS'), isOther && TRANSPORTS !== undefined, ours],
    [variable('COMPRESSION'), isOther && COMPRESSION !== undefined, ours],
    [option('rooms'), isOther && rooms.count > 1, ours],
    [
      ['config', 'engines'],
      // Artillery builds the engines that are named there for `before`, too.
      !isOther && script.config.engines?.[ENGINE] === undefined && JSON.stringify(script.before)?.includes('"capture"'),
      `write ${ENGINE}: {} there, so that the run's own clients get what \`before\` captures`,
    ],
    [option('delivery'), isOther && delivery !== undefined, ours],
    [option('fault'), isOther && fault !== undefined, ours],
    [option('overTime'), isOther && overTime !== undefined, ours],
    [
      ['scenarios', engines.indexOf(other), 'engine'],
      other !== null,
      `${other} beside ${first}: a measured run has one engine, since its arrivals are the connections that it expects; run the other scenario by an \`artillery run\` of its own`,
    ],
  ];
}

/** Settings that only the bundled deployment can obey. */
function stackRules({ variables, options, hasStack }: Known): Rule[] {
  const { TLS = false, REDIS_NODES = 1, REDIS_URL, PROFILE, STACK_PORT } = variables;
  const { control, profile, fault, workers, stack } = options;
  const isOwn = control !== undefined || (typeof workers === 'object' && hasSources(workers));
  const isEmbedded = profile === 'embedded';
  const isFull = hasStack && !isEmbedded;
  const onlyStack = `only for the bundled deployment: ${
    stack ? `without TARGET, and with its address, http://127.0.0.1:${stack.port}, as config.target` : NO_STACK
  }`;
  const onlyFull = `${isEmbedded ? 'only with nginx and Redis: not with the profile `embedded`' : onlyStack}; for a server of your own, `;
  const kind = fault?.kind ?? 'command';
  return [
    [variable('STACK_PORT'), STACK_PORT !== undefined && !hasStack, onlyStack],
    [variable('PROFILE'), PROFILE !== undefined && !hasStack, onlyStack],
    [option('profile'), profile !== undefined && PROFILE === undefined && !stack, onlyStack],
    [option('workers'), typeof workers === 'number' && !stack, onlyStack],
    [variable('TLS'), TLS && !isFull, `${onlyFull}write an https:// target`],
    [
      variable('REDIS_NODES'),
      REDIS_NODES > 1 && (!isFull || REDIS_URL !== undefined),
      `${onlyFull}leave it out, as with REDIS_URL`,
    ],
    [
      option('fault', 'kind'),
      isStackFault(kind) && (isOwn || !stack || (isEmbedded && ['reload-nginx', 'restart-redis'].includes(kind))),
      `${onlyFull}write the \`command\` that does it`,
    ],
    [
      option('fault', 'kind'),
      kind === 'restart-redis' && REDIS_URL !== undefined,
      'the Redis of REDIS_URL is not the stack’s',
    ],
  ];
}

/** What an option asks of the others. */
function optionRules({ script, options, hasStack }: Known): Rule[] {
  const { rooms, clients, delivery, control, workers } = options;
  const named = script.scenarios?.some(({ name }) => name === clients);
  return [
    [variable('CAPACITY_TOKEN'), control?.token === '', 'required for control'],
    [
      option('workers', 'inspect'),
      control !== undefined && typeof workers === 'object' && workers.inspect !== undefined,
      'with `control`, the workers collect their garbage and report their memory themselves: leave it out',
    ],
    [
      option('workers', 'profile'),
      typeof workers === 'object' && workers.profile && !workers.inspect && !control && !hasStack,
      'needs `inspect` beside it, or the control ports of `instrument(io, { profile: true })`',
    ],
    [
      option('rooms', 'perConnection'),
      rooms.perConnection > rooms.count,
      `there are only ${rooms.count} rooms (rooms.count, or ROOMS)`,
    ],
    [
      option('rooms'),
      rooms.count > 1 && delivery !== undefined,
      "with `delivery`, the server's own event goes wherever the server sends it",
    ],
    [
      option('delivery', 'audience', 'client'),
      delivery?.audience && (typeof delivery.audience.client === 'string') !== (delivery.join === undefined),
      'a path is one into the event `delivery.join`; a variable goes without `join`',
    ],
    [option('clients'), clients !== undefined && !named, `no scenario has the name ${clients}`],
  ];
}

/** What a scenario has to be like for a planned fault to tell anything. */
function faultRules({ engineOptions, flows, options }: Known): Rule[] {
  const { fault, broadcasts, delivery, overTime } = options;
  if (!fault) return [];
  const { kind, command, at } = fault;
  const lastAt = (broadcasts.count - 1) * broadcasts.interval;
  return [
    [
      option('fault'),
      engineOptions.reconnection === undefined,
      `connections that drop would stay away: write config.engines.${ENGINE}.reconnection: true`,
    ],
    [option('fault'), overTime !== undefined, 'not with `overTime`, whose virtual users come and go by themselves'],
    [option('fault'), delivery !== undefined, 'not with `delivery`: its publishers would drop, too'],
    [
      option('fault'),
      !overTime && !flows.every(({ holds }) => holds),
      'its virtual users must stay: end the flow with `hold: true`',
    ],
    [option('fault'), kind === 'command' && !command, 'needs a `kind`, or a `command`'],
    [option('fault', 'command'), kind !== 'command' && command !== undefined, 'only for the kind `command`'],
    [
      option('fault', 'at'),
      broadcasts.count > 0 && at >= lastAt,
      `the last broadcast is at ${lastAt} s: without broadcasts after the fault, nothing shows who missed what`,
    ],
  ];
}

/** Memory over time asks for virtual users that come and go, and for nothing that needs them to stay. */
function overTimeRules({ script, variables, flows }: Known): Rule[] {
  // As the user wrote them: what has a default is not in the way.
  const given = (script.config.plugins?.[PLUGIN] ?? {}) as Record<string, unknown>;
  const isSet = (name: keyof Environment) => variables[name] !== undefined;
  if (given.overTime === undefined) {
    const only = 'only for scenarios with the option `overTime`';
    return [
      [variable('COLLECT'), isSet('COLLECT'), only],
      [variable('DURATION'), isSet('DURATION'), only],
      [variable('CONNECTIONS'), isSet('CONNECTIONS') && given.fault === undefined, `${only} or \`fault\``],
    ];
  }
  const gone = 'with `overTime`, nobody is left for it at the end of the run';
  const holding = flows.findIndex(({ holds }) => holds);
  return [
    ...['hold', 'broadcasts', 'delivery'].map((name): Rule => [option(name), given[name] !== undefined, gone]),
    ...(['HOLD', 'BROADCASTS'] as const).map((name): Rule => [variable(name), isSet(name), gone]),
    [
      variable('DURATION'),
      isSet('CONNECTIONS') && isSet('DURATION'),
      'CONNECTIONS is set, too; at a given rate, one follows from the other',
    ],
    [
      ['scenarios', holding, 'flow'],
      holding >= 0,
      'its virtual users never leave; in place of `hold`, let them `think` for some seconds',
    ],
  ];
}
