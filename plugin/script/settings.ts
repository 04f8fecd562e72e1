/**
 * Reads a scenario once, for the run, the doctor and the engines. Environment variables override some options, so that the same file
 * works with another target, rate, hold or number of broadcasts.
 */
import { check, type Problem } from '../../protocol/base/problems.ts';
import type { TlsOptions } from '../../protocol/wire/connection.ts';
import { type ConnectionTarget, connectionTargetOf } from './connection-target.ts';
import { crossProblems } from './cross-checks.ts';
import { InvalidSettings } from './invalid-settings.ts';
import type { StepTable } from './load/flow.ts';
import { type Load, loadOf } from './load/load.ts';
import { type Phase, phasesSchema, resizedPhases, totalSeconds } from './load/phases.ts';
import { type Share, sharedPhases, WHOLE } from './load/shares.ts';
import { misspeltNames, unreadNames } from './misspelt-names.ts';
import { checkConfig } from './options/check-config.ts';
import type { DeliveryOptions } from './options/delivery-options.ts';
import { type EngineOptions, parseEngineOptions, withKnownOptions } from './options/engine-options.ts';
import { folderOf, readTlsFiles } from './options/files.ts';
import {
  type Environment,
  optionsSchema,
  type PluginOptions,
  type RunOptions,
  readVariables,
  withVariables,
} from './options/plugin-options.ts';
import { hasSources, type WorkerSources } from './options/worker-sources.ts';
import { requireBounds } from './required-bounds.ts';
import { readScenarios } from './scenarios.ts';
import { ENGINE, enginesOf, PLUGIN, type Script } from './script.ts';
import { knowSecretsOf } from './secrets.ts';
import { unfilledTemplates } from './unfilled-templates.ts';

/**
 * The supported third-party engine, `artillery-engine-socketio-v3`. Artillery's own engine `socketio` is not supported,
 * because Artillery refuses the step `hold` for it.
 */
const EXTERNAL_ENGINE = 'socketio-v3';

/** Host of the bundled deployment. */
const HOST = '127.0.0.1';

/** The server's own event that the run counts. */
export interface Delivery extends DeliveryOptions {
  /** Duration of the broadcasts or, without `publish`, of listening. */
  seconds: number;
}

export interface Settings extends Omit<RunOptions, 'workers' | 'delivery' | 'control' | 'stack'> {
  /** Port of the bundled deployment; undefined for the user's own server. */
  stack: { port: number } | undefined;
  /** Number of workers of the bundled deployment. */
  workers: number | undefined;
  /** Sources of the workers' memory and CPU, if the workers do not report them. */
  workerSources: WorkerSources | undefined;
  /** Whether the run reads where the workers allocate memory and use CPU. */
  places: boolean;
  target: string;
  /** Whether the bundled deployment uses TLS, with a self-signed certificate. */
  tls: boolean;
  /** Phases with times in seconds, at the rate of `RATE` if it is set. */
  phases: Phase[];
  load: Load;
  /** Option that replaces the contract's broadcasts; undefined if the run counts those, or none. */
  delivery: Delivery | undefined;
  /** Connection options of the load, of the run's own receivers and of checks. */
  connection: ConnectionTarget;
  /** Access to the workers' control ports; undefined without them. */
  control: ControlSettings | undefined;
  redisUrl: string | undefined;
  /** Number of nodes of the Redis that a stack starts. */
  redisNodes: number | undefined;
  /** Name of the Artillery engine that drives the load. */
  engine: string;
  /** Options of this engine; undefined if a third-party engine drives the load. */
  engineOptions: EngineOptions | undefined;
  /** Other engines whose virtual users load the server beside the measured connections. */
  otherEngines: string[];
  /** Whether a third-party engine drives the load. */
  external: boolean;
  /** This host's share of the load; `phases` and `load` are already reduced to it. */
  share: Share;
  /**
   * Whether all virtual users leave by themselves, so that the run measures while they connect and disconnect; false with
   * the option `overTime`.
   */
  usersLeave: boolean;
  /** Seconds from the first arrival to the first broadcast in a run whose users leave. By then, the first users may have left. */
  leadSeconds: number;
}

/** Number of memory readings in a run whose users leave, during the load. */
const READINGS = 40;
const MIN_READING_SECONDS = 2;

interface ControlSettings {
  urls: string[];
  token: string;
  tls: TlsOptions;
}

/**
 * @param script script as Artillery passes it to plugins
 * @param steps steps of this engine, by verb
 * @param env process.env
 * @param share this host's share of the load
 * @param earlierProblems problems that were found before
 * @throws CapacityError CONFIG_INVALID, which lists every problem with its path; RATE_IMPOSSIBLE
 */
export function readSettings(
  script: Script,
  steps: StepTable,
  env: NodeJS.ProcessEnv,
  share = WHOLE,
  earlierProblems: Problem[] = [],
): Settings {
  requireBounds(script);
  knowSecretsOf(script, env);
  const { config } = script;
  const problems = [...misspeltNames(script), ...earlierProblems];
  const given = checkConfig(optionsSchema, config.plugins?.[PLUGIN] ?? {}, ['config', 'plugins', PLUGIN], problems);
  const scriptPhases = check(phasesSchema, config.phases ?? [], ['config', 'phases'], problems);
  const variables = readVariables(env, problems);
  const { TLS: tls = false, TRANSPORTS: transports, COMPRESSION: compression, BROADCASTS } = variables;
  const options = given && withVariables(given, variables);
  const loadEngine = engineOf(script);
  const isOwnEngine = loadEngine.engine === ENGINE;
  const scenarios = readScenarios(script, steps, env);
  if (isOwnEngine) problems.push(...scenarios.problems, ...unreadNames(script), ...unfilledTemplates(script, env));
  const { flows } = scenarios;
  const stack = given && stackTargetOf(config.target, given, variables);
  const target = stack?.url ?? variables.TARGET ?? config.target;
  const engineOptions = parseEngineOptions(isOwnEngine ? script : withKnownOptions(script), problems, {
    ...{ target, transports, compression },
    selfSigned: tls,
  });
  // The engine's TLS options also apply to control ports, except for the target's name and session resumption.
  const { servername: _, resume: __, ...sharedTls } = engineOptions?.connection.tls ?? {};
  const at = ['config', 'plugins', PLUGIN, 'control', 'tls'];
  const controlTls = { ...sharedTls, ...readTlsFiles(given?.control?.tls ?? {}, folderOf(script), at, problems) };
  if (options && engineOptions && problems.length === 0) {
    const hasStack = stack !== undefined;
    problems.push(...crossProblems({ script, options, variables, ...loadEngine, flows, engineOptions, hasStack }));
  }
  if (problems.length > 0 || !options || !scriptPhases || !engineOptions || !target)
    throw new InvalidSettings(problems);
  const { workers, control, ...rest } = options;
  const delivery = deliveryOf(options, BROADCASTS);
  const { client } = delivery?.audience ?? {};
  if (typeof client === 'string') engineOptions.roomsVariable = client;
  const phases = sharedPhases(resizedPhases(scriptPhases, variables), share, options.rooms.count);
  const load = loadOf(phases, flows);
  const usersLeave = isOwnEngine && load.leaves && options.overTime === undefined;
  const loadSeconds = totalSeconds(phases);
  const every = Math.max(MIN_READING_SECONDS, loadSeconds / READINGS);
  const leadSeconds = usersLeave ? Math.min(load.staySeconds, loadSeconds / 3) : 0;
  const fitting = (count: number, interval: number) =>
    usersLeave ? Math.min(count, Math.max(1, Math.floor((loadSeconds - leadSeconds) / interval))) : count;
  const { broadcasts } = options;
  const publish = delivery?.publish;
  return {
    ...rest,
    ...{ usersLeave, leadSeconds },
    ...(usersLeave && { overTime: { collect: false, every } }),
    broadcasts: { ...broadcasts, count: fitting(broadcasts.count, broadcasts.interval) },
    ...loadEngine,
    share,
    stack: stack && { port: stack.port },
    workers: typeof workers === 'number' ? workers : undefined,
    workerSources: typeof workers === 'object' && hasSources(workers) ? workers : undefined,
    places: typeof workers === 'object' && workers.profile === true,
    target,
    tls,
    phases,
    load,
    connection: connectionTargetOf(engineOptions, flows[0]),
    engineOptions: isOwnEngine ? engineOptions : undefined,
    redisUrl: variables.REDIS_URL,
    redisNodes: variables.REDIS_NODES,
    delivery: publish
      ? { ...delivery, publish: { ...publish, count: fitting(publish.count, publish.every) } }
      : delivery,
    control: control && { ...control, tls: controlTls },
  };
}

function deliveryOf(
  { delivery, broadcasts }: Pick<PluginOptions, 'delivery' | 'broadcasts'>,
  count: number | undefined,
): Delivery | undefined {
  if (!delivery) return undefined;
  const { publish } = delivery;
  if (!publish) return { ...delivery, seconds: (count ?? broadcasts.count) * broadcasts.interval };
  const publishes = { ...publish, count: count ?? publish.count };
  return { ...delivery, publish: publishes, seconds: publishes.count * publishes.every };
}

function engineOf(script: Script): Pick<Settings, 'engine' | 'otherEngines' | 'external'> {
  const names = enginesOf(script);
  const [first = ENGINE] = names;
  const engine = names.includes(ENGINE) ? ENGINE : first;
  return { engine, otherEngines: names.filter((name) => name !== engine), external: engine === EXTERNAL_ENGINE };
}

interface StackTarget {
  port: number;
  /** URL with the path and query of `config.target`. */
  url: string;
}

/**
 * Returns the address of the bundled deployment; undefined for the user's own server. Depends on the scenario alone, never on which
 * ports are in use: the bundled deployment is measured if the scenario has the option `stack`, its target is that address, and
 * neither `TARGET` nor an option names another server.
 * @param target target of the scenario, also as set by `artillery run --target` or by an environment of the scenario
 */
function stackTargetOf(
  target: unknown,
  { stack, control, workers, delivery, layers }: PluginOptions,
  { TARGET, STACK_PORT, TLS = false, CAPACITY_CONTROL }: Environment,
): StackTarget | undefined {
  const ownServer =
    control ??
    CAPACITY_CONTROL ??
    delivery ??
    layers ??
    ((typeof workers === 'object' && hasSources(workers)) || undefined);
  const given = URL.canParse(String(target)) ? new URL(String(target)) : undefined;
  if (!stack || !given || TARGET !== undefined || ownServer !== undefined) return undefined;
  const isStackAddress = given.hostname === HOST && (Number(given.port) || 80) === stack.port;
  if (!isStackAddress || !/^(http|ws):$/.test(given.protocol)) return undefined;
  const port = STACK_PORT ?? stack.port;
  const path = `${given.pathname.replace(/\/$/, '')}${given.search}`;
  return { port, url: `${TLS ? 'https' : 'http'}://${HOST}:${port}${path}` };
}
