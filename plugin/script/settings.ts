/**
 * Reads the settings of a scenario for the run, the doctor and the engines. Environment variables take precedence over
 * some options, so the same scenario works with another target, rate, hold time or number of broadcasts.
 */
import { type InputProblem, parseWithSchema } from '../../protocol/base/problems.ts';
import type { TlsOptions } from '../../protocol/wire/connection.ts';
import { type ConnectionTarget, connectionTargetOf } from './connection-target.ts';
import { findOptionConflicts } from './cross-checks.ts';
import { InvalidSettings } from './invalid-settings.ts';
import type { StepTable } from './load/flow.ts';
import { type ScenarioLoad, scenarioLoadOf } from './load/load.ts';
import { type Phase, phasesSchema, resizedPhases, totalSeconds } from './load/phases.ts';
import { type HostShare, phasesOfHost, WHOLE_LOAD } from './load/shares.ts';
import { misspeltNames, unreadKeys } from './misspelt-names.ts';
import { checkConfig } from './options/check-config.ts';
import type { DeliveryOptions } from './options/delivery-options.ts';
import { type EngineOptions, parseEngineOptions, withKnownOptions } from './options/engine-options.ts';
import { readTlsFiles, scriptFolder } from './options/files.ts';
import {
  type Environment,
  type PluginOptions,
  pluginOptionsSchema,
  type RunOptions,
  readRunEnvironment,
  withVariables,
} from './options/plugin-options.ts';
import { hasSources, type WorkerSources } from './options/worker-sources.ts';
import { requireBounds } from './required-bounds.ts';
import { readScenarios } from './scenarios.ts';
import { ENGINE_NAME, engineNamesOf, PLUGIN_NAME, type Script } from './script.ts';
import { setSecretsOfScript } from './secrets.ts';
import { unfilledTemplates } from './unfilled-templates.ts';

/**
 * Name of the supported third-party engine, `artillery-engine-socketio-v3`. Artillery's own engine `socketio` is not
 * supported, because Artillery refuses the step `hold` for it.
 */
const EXTERNAL_ENGINE = 'socketio-v3';

/** Host name in the URL of the deployment that this tool starts. */
const HOST = '127.0.0.1';

/** Settings of an event that the server sends itself and the run counts. */
export interface OwnEventDelivery extends DeliveryOptions {
  /** Seconds during which the run publishes. Without `publish`, seconds during which the run listens for events. */
  seconds: number;
}

export interface Settings extends Omit<RunOptions, 'workers' | 'delivery' | 'control' | 'stack'> {
  /** Port of the deployment that this tool starts; undefined for the user's own server. */
  stack: { port: number } | undefined;
  /** Number of workers of the deployment that this tool starts; undefined for the user's own server. */
  workers: number | undefined;
  /**
   * Sources of memory and CPU figures for the server's workers; undefined if the workers report the figures themselves.
   */
  workerSources: WorkerSources | undefined;
  /** Whether the run profiles in which places of the code the workers allocate memory and use CPU. */
  places: boolean;
  target: string;
  /** Whether the deployment that this tool starts uses TLS with a self-signed certificate. */
  tls: boolean;
  /** Phases of the load, with times in seconds. `RATE` has been applied if it is set. */
  phases: Phase[];
  load: ScenarioLoad;
  /**
   * Server's own event to count in place of the tool's broadcasts; undefined if the run publishes broadcasts, or counts
   * nothing.
   */
  delivery: OwnEventDelivery | undefined;
  /** Connection options of the load, of the run's own receivers and of checks. */
  connection: ConnectionTarget;
  /** Settings for access to the workers' control ports; undefined if the server has none. */
  control: ControlSettings | undefined;
  redisUrl: string | undefined;
  /** Number of nodes of the Redis that this tool starts. */
  redisNodes: number | undefined;
  /** Name of the Artillery engine that drives the load. */
  engine: string;
  /** Options of this engine; undefined if a third-party engine drives the load. */
  engineOptions: EngineOptions | undefined;
  /**
   * Names of further Artillery engines in the scenario. Their virtual users load the server, too, but are not measured.
   */
  otherEngines: string[];
  /** Whether a third-party engine drives the load. */
  external: boolean;
  /** This host's share of the load. `phases` and `load` contain only this share. */
  share: HostShare;
  /**
   * Whether all virtual users leave by themselves. The run then measures while users connect and disconnect. False with
   * the option `overTime`.
   */
  usersLeave: boolean;
  /**
   * Seconds from the first arrival to the first broadcast, in a run whose virtual users leave by themselves. The first
   * users may have left by then.
   */
  leadSeconds: number;
}

/** Number of memory readings during the load, in a run whose virtual users leave by themselves. */
const READINGS = 40;
const MIN_READING_SECONDS = 2;

interface ControlSettings {
  urls: string[];
  token: string;
  tls: TlsOptions;
}

/**
 * Reads the settings of a run.
 * @param script script from Artillery or from `readScenario`
 * @param steps steps of this engine by name
 * @param env environment variables
 * @param share this host's share of the load
 * @param earlierProblems problems that are already known
 * @throws CapacityError CONFIG_INVALID with all problems and their paths; RATE_IMPOSSIBLE
 */
export function readSettings(
  script: Script,
  steps: StepTable,
  env: NodeJS.ProcessEnv,
  share = WHOLE_LOAD,
  earlierProblems: InputProblem[] = [],
): Settings {
  requireBounds(script);
  setSecretsOfScript(script, env);
  const { config } = script;
  const problems = [...misspeltNames(script), ...earlierProblems];
  const given = checkConfig(
    pluginOptionsSchema,
    config.plugins?.[PLUGIN_NAME] ?? {},
    ['config', 'plugins', PLUGIN_NAME],
    problems,
  );
  const scriptPhases = parseWithSchema(phasesSchema, config.phases ?? [], ['config', 'phases'], problems);
  const variables = readRunEnvironment(env, problems);
  const { TLS: tls = false, TRANSPORTS: transports, COMPRESSION: compression, BROADCASTS } = variables;
  const options = given && withVariables(given, variables);
  const loadEngine = engineOf(script);
  const isOwnEngine = loadEngine.engine === ENGINE_NAME;
  const scenarios = readScenarios(script, steps, env);
  if (isOwnEngine) problems.push(...scenarios.problems, ...unreadKeys(script), ...unfilledTemplates(script, env));
  const { flows } = scenarios;
  const stack = given && stackTargetOf(config.target, given, variables);
  const target = stack?.url ?? variables.TARGET ?? config.target;
  const engineOptions = parseEngineOptions(isOwnEngine ? script : withKnownOptions(script), problems, {
    ...{ target, transports, compression },
    selfSigned: tls,
  });
  // The engine's TLS options also apply to control ports, except for server name and session resumption.
  const { servername: _, resume: __, ...sharedTls } = engineOptions?.connection.tls ?? {};
  const at = ['config', 'plugins', PLUGIN_NAME, 'control', 'tls'];
  const controlTls = { ...sharedTls, ...readTlsFiles(given?.control?.tls ?? {}, scriptFolder(script), at, problems) };
  if (options && engineOptions && problems.length === 0) {
    const hasStack = stack !== undefined;
    problems.push(
      ...findOptionConflicts({ script, options, variables, ...loadEngine, flows, engineOptions, hasStack }),
    );
  }
  if (problems.length > 0 || !options || !scriptPhases || !engineOptions || !target)
    throw new InvalidSettings(problems);
  const { workers, control, ...rest } = options;
  const delivery = deliveryOf(options, BROADCASTS);
  const { client } = delivery?.audience ?? {};
  if (typeof client === 'string') engineOptions.roomsVariable = client;
  const phases = phasesOfHost(resizedPhases(scriptPhases, variables), share, options.rooms.count);
  const load = scenarioLoadOf(phases, flows);
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
): OwnEventDelivery | undefined {
  if (!delivery) return undefined;
  const { publish } = delivery;
  if (!publish) return { ...delivery, seconds: (count ?? broadcasts.count) * broadcasts.interval };
  const publishes = { ...publish, count: count ?? publish.count };
  return { ...delivery, publish: publishes, seconds: publishes.count * publishes.every };
}

function engineOf(script: Script): Pick<Settings, 'engine' | 'otherEngines' | 'external'> {
  const names = engineNamesOf(script);
  const [first = ENGINE_NAME] = names;
  const engine = names.includes(ENGINE_NAME) ? ENGINE_NAME : first;
  return { engine, otherEngines: names.filter((name) => name !== engine), external: engine === EXTERNAL_ENGINE };
}

interface StackTarget {
  port: number;
  /** URL of the deployment, with the path and query of `config.target`. */
  url: string;
}

/**
 * Returns the address of the deployment that this tool starts; undefined for the user's own server. The scenario alone
 * decides, not the ports in use. The deployment is measured if the scenario has the option `stack` and the deployment's
 * address as target, and neither `TARGET` nor an option names another server.
 * @param target target of the scenario, including `--target` and the chosen environment
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
