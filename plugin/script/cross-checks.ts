/** Checks whether settings contradict each other. Each setting has already been validated alone. */
import { formatPath, type InputProblem, type ProblemPath } from '../../protocol/base/problems.ts';
import { isStackFault } from '../../protocol/wire/fault-kinds.ts';
import type { Flow } from './load/flow.ts';
import { arrivalsOf, phasesOfShare } from './load/phases.ts';
import type { EngineOptions } from './options/engine-options.ts';
import type { Environment, RunOptions } from './options/plugin-options.ts';
import { hasPageWithoutMemory, hasSources } from './options/worker-sources.ts';
import { STEPS_SECONDS } from './scenarios.ts';
import { ENGINE_NAME, engineNameOf, PLUGIN_NAME, type Script } from './script.ts';

/** Settings that have been validated one by one. */
interface ValidSettings {
  script: Script;
  /** Options of the plugin. Values from environment variables are included. */
  options: RunOptions;
  variables: Environment;
  /** Name of the Artillery engine that drives the load. */
  engine: string;
  otherEngines: string[];
  flows: Flow[];
  engineOptions: EngineOptions;
  /** Whether the run measures the deployment that this tool starts. */
  hasStack: boolean;
}

type Rule = [at: ProblemPath, isWrong: boolean | undefined, message: string];

export function findOptionConflicts(settings: ValidSettings): InputProblem[] {
  const rules = [...engineRules(settings), ...stackRules(settings), ...optionRules(settings)];
  rules.push(...faultRules(settings), ...overTimeRules(settings));
  return rules.flatMap(([at, isWrong, message]) => (isWrong ? [{ path: formatPath(at), message }] : []));
}

/** Names of engines that open Socket.IO connections which this engine does not count. */
const SOCKETIO_ENGINES = ['socketio', 'socketio-v3'];
const NO_STACK = `write config.plugins.${PLUGIN_NAME}.stack: {} to measure that`;
const option = (...path: string[]): ProblemPath => ['config', 'plugins', PLUGIN_NAME, ...path];
const variable = (name: keyof Environment): ProblemPath => ['environment variable', name];

function engineRules({ script, variables, options, engine, otherEngines }: ValidSettings): Rule[] {
  const { TRANSPORTS, COMPRESSION } = variables;
  const { rooms, delivery, fault, overTime } = options;
  const isOther = engine !== ENGINE_NAME;
  const onlyThisEngine = `only engine ${ENGINE_NAME} supports this`;
  const uncounted = otherEngines.find((name) => isOther || SOCKETIO_ENGINES.includes(name));
  const place = script.scenarios?.findIndex((scenario) => engineNameOf(scenario, script) === uncounted) ?? 0;
  return [
    [variable('TRANSPORTS'), isOther && TRANSPORTS !== undefined, onlyThisEngine],
    [variable('COMPRESSION'), isOther && COMPRESSION !== undefined, onlyThisEngine],
    [option('rooms'), isOther && rooms.count > 1, onlyThisEngine],
    [
      ['config', 'engines'],
      // For the hook `before`, Artillery creates only the engines in `config.engines`, so this engine must be listed
      // there.
      !isOther &&
        script.config.engines?.[ENGINE_NAME] === undefined &&
        JSON.stringify(script.before)?.includes('"capture"'),
      `write ${ENGINE_NAME}: {} there, so that the run's own clients get what \`before\` captures`,
    ],
    [option('delivery'), isOther && delivery !== undefined, onlyThisEngine],
    [option('fault'), isOther && fault !== undefined, onlyThisEngine],
    [option('overTime'), isOther && overTime !== undefined, onlyThisEngine],
    [
      ['scenarios', place, 'engine'],
      uncounted !== undefined,
      isOther
        ? `${uncounted} beside ${engine}: only ${ENGINE_NAME} can be measured beside other engines`
        : `its connections would be in no account: write engine: ${ENGINE_NAME}`,
    ],
  ];
}

/** Returns rules for settings that are valid only in a run against the deployment that this tool starts. */
function stackRules({ variables, options, hasStack }: ValidSettings): Rule[] {
  const { TLS = false, REDIS_NODES = 1, REDIS_URL, PROFILE, STACK_PORT } = variables;
  const { control, profile, fault, workers, stack } = options;
  const isOwnServer = control !== undefined || (typeof workers === 'object' && hasSources(workers));
  const isEmbedded = profile === 'embedded';
  const isFull = hasStack && !isEmbedded;
  const onlyStack = `only for the bundled deployment: ${
    stack ? `without TARGET, and with its address, http://127.0.0.1:${stack.port}, as config.target` : NO_STACK
  }`;
  const onlyFull = `${isEmbedded ? 'only with nginx and Redis: not with the profile `embedded`' : onlyStack}; for your own server, `;
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
      isStackFault(kind) && (isOwnServer || !stack || (isEmbedded && ['reload-nginx', 'restart-redis'].includes(kind))),
      `${onlyFull}write the \`command\` that does it`,
    ],
    [
      option('fault', 'kind'),
      kind === 'restart-redis' && REDIS_URL !== undefined,
      'the Redis of REDIS_URL is not the stack’s',
    ],
  ];
}

function optionRules({ script, options, engine, flows, hasStack }: ValidSettings): Rule[] {
  const { rooms, clients, counts, delivery, control, workers } = options;
  const named = script.scenarios?.some(
    (scenario) => scenario.name === clients && engineNameOf(scenario, script) === engine,
  );
  return [
    [variable('CAPACITY_TOKEN'), control?.token === '', 'required for control'],
    [
      option('workers', 'inspect'),
      control !== undefined && typeof workers === 'object' && workers.inspect !== undefined,
      'with `control`, the workers collect garbage and report their memory themselves: leave it out',
    ],
    [
      option('workers', 'profile'),
      typeof workers === 'object' && workers.profile && !workers.inspect && !control && !hasStack,
      'needs `inspect`, or the control ports of `instrument(io, { profile: true })`',
    ],
    [
      option('workers', 'json'),
      typeof workers === 'object' &&
        hasPageWithoutMemory(workers) &&
        !counts?.some(({ counter }) => counter?.startsWith('$')),
      'give `rss` or `heapUsed`, or a path into the page as `counter` in `counts`',
    ],
    [
      option('rooms', 'perConnection'),
      rooms.perConnection > rooms.count,
      `there are only ${rooms.count} rooms (rooms.count, or ROOMS)`,
    ],
    [
      option('rooms'),
      rooms.count > 1 && delivery !== undefined,
      'with `delivery`, the server decides to which rooms its event goes: leave it out',
    ],
    [
      option('delivery', 'audience', 'client'),
      delivery?.audience && (typeof delivery.audience.client === 'string') !== (delivery.join === undefined),
      'with `delivery.join`, expected a path into its arguments or its acknowledgement; without it, the name of a variable',
    ],
    [
      option('counts'),
      counts !== undefined && (engine !== ENGINE_NAME || !flows.every(({ holds }) => holds)),
      'connections must stay while copies are counted: end every flow with `hold: true`',
    ],
    [option('clients'), clients !== undefined && !named, `no scenario has the name ${clients}`],
  ];
}

function faultRules({ engineOptions, flows, options }: ValidSettings): Rule[] {
  const { fault, broadcasts, delivery, overTime } = options;
  if (!fault) return [];
  const { kind, command, at } = fault;
  const lastAt = (broadcasts.count - 1) * broadcasts.interval;
  return [
    [
      option('fault'),
      engineOptions.reconnection === undefined,
      `dropped connections would not reconnect: write config.engines.${ENGINE_NAME}.reconnection: true`,
    ],
    [option('fault'), overTime !== undefined, 'not with `overTime`, whose virtual users leave by themselves'],
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
      `the last broadcast is at ${lastAt} s: without broadcasts after the fault, missed copies cannot be counted`,
    ],
  ];
}

/**
 * Returns rules for the option `overTime`. It measures virtual users that leave by themselves, so options that need
 * them to stay are refused.
 */
function overTimeRules({ script, options, variables, flows }: ValidSettings): Rule[] {
  // Only options that the user has written are checked, because defaults never conflict.
  const given = (script.config.plugins?.[PLUGIN_NAME] ?? {}) as Record<string, unknown>;
  const isSet = (name: keyof Environment) => variables[name] !== undefined;
  if (given.overTime === undefined) {
    const only = 'only for scenarios with the option `overTime`';
    return [
      [variable('COLLECT'), isSet('COLLECT'), only],
      [variable('DURATION'), isSet('DURATION'), only],
      [variable('CONNECTIONS'), isSet('CONNECTIONS') && given.fault === undefined, `${only} or \`fault\``],
    ];
  }
  const noConnections = 'with `overTime`, no connections are left for it at the end of the run';
  const holding = flows.findIndex(({ holds }) => holds);
  const phases = phasesOfShare(script.config.phases ?? []);
  const hasWaves = options.overTime?.every === undefined;
  const isPaused = phases.some(({ pause }) => pause !== undefined);
  const thinkSeconds = Math.max(0, ...flows.map(({ staySeconds }) => staySeconds - STEPS_SECONDS));
  const arrivalsPerSec = phases.map((phase) => arrivalsOf(phase) / (phase.duration ?? 1));
  const usersAtOnce = thinkSeconds * (variables.RATE ?? Math.max(0, ...arrivalsPerSec));
  return [
    [
      option('overTime'),
      hasWaves && !isPaused,
      'without a `pause` between the phases there are no waves: write overTime: {every: 10} to read every 10 s, or a `pause` after each ramp in which all leave',
    ],
    [
      option('overTime'),
      hasWaves && isPaused && usersAtOnce < 1,
      'its virtual users leave before the next one comes, so a wave would have no connections: write a `think` into the flow that lasts until the ramp has ended',
    ],
    ...['hold', 'broadcasts', 'delivery'].map((name): Rule => [option(name), given[name] !== undefined, noConnections]),
    ...(['HOLD', 'BROADCASTS'] as const).map((name): Rule => [variable(name), isSet(name), noConnections]),
    [
      variable('DURATION'),
      isSet('CONNECTIONS') && isSet('DURATION'),
      'CONNECTIONS is set, too: at a given rate, it determines the duration',
    ],
    [
      ['scenarios', holding, 'flow'],
      holding >= 0,
      'its virtual users never leave: replace `hold` by a `think` of some seconds',
    ],
  ];
}
