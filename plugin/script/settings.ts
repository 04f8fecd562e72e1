/**
 * Reads a scenario once: for the run, the doctor, and the engines, which get it as it is. A few environment variables
 * override it, so that the same file serves another target, rate, hold or number of broadcasts.
 */

import { check, type Problem } from '../../protocol/base/problems.ts';
import type { TlsOptions } from '../../protocol/wire/connection.ts';
import { type ConnectionTarget, connectionTargetOf } from './connection-target.ts';
import { crossProblems } from './cross-checks.ts';
import { invalidSettings } from './invalid-settings.ts';
import type { StepTable } from './load/flow.ts';
import { type Load, loadOf } from './load/load.ts';
import { type Phase, phasesSchema, resizedPhases } from './load/phases.ts';
import { type Share, sharedPhases, WHOLE } from './load/shares.ts';
import { misspeltNames } from './misspelt-names.ts';
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
import { ENGINE, PLUGIN, type Script } from './script.ts';
import { knowSecretsOf } from './secrets.ts';

/** `artillery-engine-socketio-v3`. Artillery checks flows of its own engine `socketio`, which cannot have the step `hold`. */
const EXTERNAL_ENGINE = 'socketio-v3';

/** Host of the bundled deployment. */
const HOST = '127.0.0.1';

/** The event of the server's own that is counted, and for how long. */
export interface Delivery extends DeliveryOptions {
  /** From the first intended send to after the last, or while the run listens. */
  seconds: number;
}

export interface Settings extends Omit<RunOptions, 'workers' | 'delivery' | 'control' | 'stack'> {
  /** Port of the bundled deployment; undefined for a server of the user's own. */
  stack: { port: number } | undefined;
  /** Of the bundled deployment. */
  workers: number | undefined;
  /** What tells of the memory and CPU of the workers, if not they themselves. */
  workerSources: WorkerSources | undefined;
  /** Whether the run looks where the workers allocate and use CPU. */
  places: boolean;
  target: string;
  /** The bundled deployment speaks TLS, with a certificate that nobody else vouches for. */
  tls: boolean;
  /** In seconds, at the rate in `RATE` if it is set. */
  phases: Phase[];
  load: Load;
  /** In place of the contract's broadcasts; undefined with those, and with none at all. */
  delivery: Delivery | undefined;
  /** How the load connects, and the run's own receivers and checks. */
  connection: ConnectionTarget;
  /** How to ask the workers; undefined where nobody may. */
  control: ControlSettings | undefined;
  redisUrl: string | undefined;
  /** For the Redis that a stack starts. */
  redisNodes: number | undefined;
  /** Name of the Artillery engine that drives the load. */
  engine: string;
  /** Undefined if a third-party engine drives the load. */
  engineOptions: EngineOptions | undefined;
  /** The flow was written for our engine, but runs on a third-party one. */
  external: boolean;
  /** Which part of the scenario's load this host brings; `phases` and `load` are of that part. */
  share: Share;
}

export interface ControlSettings {
  urls: string[];
  token: string;
  tls: TlsOptions;
}

/**
 * @param script as Artillery hands it over to plugins
 * @param steps of our engine, by verb
 * @param env process.env
 * @param share of the load that this host brings
 * @param further problems that were found before
 * @throws CapacityError CONFIG_INVALID, which lists every problem with its place; RATE_IMPOSSIBLE
 */
export function readSettings(
  script: Script,
  steps: StepTable,
  env: NodeJS.ProcessEnv,
  share = WHOLE,
  further: Problem[] = [],
): Settings {
  requireBounds(script);
  knowSecretsOf(script, env);
  const { config } = script;
  const problems = [...misspeltNames(script), ...further];
  const given = checkConfig(optionsSchema, config.plugins?.[PLUGIN] ?? {}, ['config', 'plugins', PLUGIN], problems);
  const written = check(phasesSchema, config.phases ?? [], ['config', 'phases'], problems);
  const variables = readVariables(env, problems);
  const { TLS: tls = false, TRANSPORTS: transports, COMPRESSION: compression, BROADCASTS } = variables;
  const options = given && withVariables(given, variables);
  const driver = engineOf(script);
  const ours = driver.engine === ENGINE;
  const scenarios = readScenarios(script, steps, env);
  if (ours) problems.push(...scenarios.problems);
  const { flows } = scenarios;
  const stack = given && stackTargetOf(config.target, given, variables);
  const target = stack?.url ?? variables.TARGET ?? config.target;
  const engineOptions = parseEngineOptions(ours ? script : withKnownOptions(script), problems, {
    ...{ target, transports, compression },
    ownTls: tls,
  });
  // Control ports are other hosts than the target: how the load speaks TLS counts there, too, except for the target's name.
  const { servername: _, resume: __, ...sharedTls } = engineOptions?.connection.tls ?? {};
  const at = ['config', 'plugins', PLUGIN, 'control', 'tls'];
  const controlTls = { ...sharedTls, ...readTlsFiles(given?.control?.tls ?? {}, folderOf(script), at, problems) };
  if (options && engineOptions && problems.length === 0) {
    const hasStack = stack !== undefined;
    problems.push(...crossProblems({ script, options, variables, ...driver, flows, engineOptions, hasStack }));
  }
  if (problems.length > 0 || !options || !written || !engineOptions || !target) throw invalidSettings(problems);
  const { workers, control, ...others } = options;
  const planned = deliveryOf(options, BROADCASTS);
  const { client } = planned?.audience ?? {};
  if (typeof client === 'string') engineOptions.roomsVariable = client;
  const phases = sharedPhases(resizedPhases(written, variables), share, options.rooms.count);
  return {
    ...others,
    ...driver,
    share,
    stack: stack && { port: stack.port },
    workers: typeof workers === 'number' ? workers : undefined,
    workerSources: typeof workers === 'object' && hasSources(workers) ? workers : undefined,
    places: typeof workers === 'object' && workers.profile === true,
    target,
    tls,
    phases,
    load: loadOf(phases, flows),
    connection: connectionTargetOf(engineOptions, flows[0]),
    engineOptions: ours ? engineOptions : undefined,
    redisUrl: variables.REDIS_URL,
    redisNodes: variables.REDIS_NODES,
    delivery: planned,
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
  const planned = { ...publish, count: count ?? publish.count };
  return { ...delivery, publish: planned, seconds: planned.count * planned.every };
}

function engineOf(script: Script): Pick<Settings, 'engine' | 'external'> {
  const engine = script.scenarios?.[0]?.engine ?? String(script.config.engine ?? ENGINE);
  return { engine, external: engine === EXTERNAL_ENGINE };
}

interface StackTarget {
  port: number;
  /** URL with the path and query of `config.target`. */
  url: string;
}

/**
 * Decides by the scenario alone, never by what listens where: it has the option `stack`, its target is that address, and
 * neither `TARGET` nor an option names another server.
 * @param target as in the scenario, or as `artillery run --target` or an environment of the scenario set it
 * @returns where the bundled deployment listens; undefined for a server of the user's own
 */
function stackTargetOf(
  target: unknown,
  { stack, control, workers, delivery, layers }: PluginOptions,
  { TARGET, STACK_PORT, TLS = false, CAPACITY_CONTROL }: Environment,
): StackTarget | undefined {
  const isOwn =
    control ??
    CAPACITY_CONTROL ??
    delivery ??
    layers ??
    ((typeof workers === 'object' && hasSources(workers)) || undefined);
  const written = URL.canParse(String(target)) ? new URL(String(target)) : undefined;
  if (!stack || !written || TARGET !== undefined || isOwn !== undefined) return undefined;
  const isItsAddress = written.hostname === HOST && (Number(written.port) || 80) === stack.port;
  if (!isItsAddress || !/^(http|ws):$/.test(written.protocol)) return undefined;
  const port = STACK_PORT ?? stack.port;
  const path = `${written.pathname.replace(/\/$/, '')}${written.search}`;
  return { port, url: `${TLS ? 'https' : 'http'}://${HOST}:${port}${path}` };
}
