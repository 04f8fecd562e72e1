/**
 * Reads a scenario once, for the run, the doctor and the engine's own check. A few environment variables override it, so
 * that the same file serves another target, rate, hold or number of broadcasts.
 */
import { z } from 'zod';
import type { TlsOptions } from '../../protocol/connection.ts';
import type { ObservedLayer } from '../../protocol/observation.ts';
import { formatPath, type Path, type Problem, problemsOf } from '../../protocol/problems.ts';
import type { RoomPlan } from '../../protocol/rooms.ts';
import { type ConnectionTarget, connectionTargetOf } from './connection-target.ts';
import { byConnectionsProblems, mixedEngines, optionProblems, variableProblems } from './cross-checks.ts';
import { faultProblems } from './fault-problems.ts';
import { invalidSettings } from './invalid-settings.ts';
import { mostConnections, type StepTable } from './load/flow.ts';
import { flowsOf, type Load, loadOf } from './load/load.ts';
import { atRate } from './load/load-profile.ts';
import { overTimeProblems, resizedPhases } from './load/over-time.ts';
import { type Phase, phasesSchema } from './load/phases.ts';
import { type DeliveryOptions, deliverySchema } from './options/delivery-options.ts';
import { type EngineOptions, parseEngineOptions, withKnownOptions } from './options/engine-options.ts';
import { faultSchema } from './options/fault-options.ts';
import { folderOf } from './options/files.ts';
import { type Environment, observerSchema, optionsSchema, type PluginOptions } from './options/plugin-options.ts';
import { tlsOfOtherHosts, tlsSchema } from './options/tls-options.ts';
import { givenOptions, readVariables, validVariables } from './options/variables.ts';
import { type WorkerSources, workerSourcesSchema } from './options/worker-sources.ts';
import { roomPlanOf } from './planned.ts';
import { ENGINE, type GivenOptions, PLUGIN, type Script, withGivenOptions } from './script.ts';
import { validateScript } from './validate.ts';

/** In this environment the pack's scenarios run on a third-party Socket.IO engine for Artillery. */
const EXTERNAL_ENVIRONMENT = 'stock';

/** The event of the server's own that is counted, and for how long. */
export interface Delivery extends DeliveryOptions {
  /** From the first intended send to after the last, or while the run listens. */
  seconds: number;
}

export interface Settings
  extends Omit<PluginOptions, 'live' | 'workers' | 'delivery' | 'rooms' | 'control' | 'observers'> {
  /** Of the broadcasts; with a single room, that is `room`. */
  rooms: RoomPlan;
  /** Of a stack that the run starts. */
  workers: number | undefined;
  /** What tells of the memory and CPU of the workers, if not they themselves. */
  workerSources: WorkerSources | undefined;
  target: string;
  /** The run's own stack speaks TLS, with a certificate that nobody else vouches for. */
  tls: boolean;
  /** In seconds, at the rate in `RATE` if it is set. */
  phases: Phase[];
  load: Load;
  /** In place of the contract's broadcasts; undefined with those, and with none at all. */
  delivery: Delivery | undefined;
  /** How the load connects, and the run's own receivers and checks. */
  connection: ConnectionTarget;
  /** Of the workers; undefined where nobody may ask them. */
  control: ControlSettings | undefined;
  /** On other hosts; undefined without any. */
  observers: ObserverSettings | undefined;
  redisUrl: string | undefined;
  /** Of the Redis that a stack starts. */
  redisNodes: number | undefined;
  /** Port of the live view, 0 for a free one; undefined for no view. */
  livePort: number | undefined;
  /** Name of the Artillery engine that drives the load. */
  engine: string;
  /** Undefined if a third-party engine drives the load. */
  engineOptions: EngineOptions | undefined;
  /** The flow was written for our engine, but runs on a third-party one. */
  external: boolean;
}

export interface ControlSettings {
  urls: string[];
  token: string;
  tls: TlsOptions;
}

export interface ObserverSettings extends Pick<ControlSettings, 'token' | 'tls'> {
  each: { url: string; layer: ObservedLayer }[];
}

export interface WorkerSettings extends Pick<Settings, 'target' | 'tls' | 'engine' | 'external'> {
  given: GivenOptions;
}

const NAMES = [
  optionsSchema,
  optionsSchema.shape.control.unwrap(),
  tlsSchema,
  observerSchema,
  optionsSchema.shape.rooms.unwrap(),
  optionsSchema.shape.overTime.unwrap(),
  faultSchema,
  workerSourcesSchema,
  deliverySchema,
  deliverySchema.shape.publish.unwrap(),
].flatMap((schema) => Object.keys(schema.shape));
const NESTED_NAMES = ['interval', 'quiet', 'deadline'];
const targetSchema = z.url({ protocol: /^(https?|wss?)$/, error: 'expected a URL such as http://localhost:3000' });

/**
 * @param script as Artillery hands it over to plugins
 * @param steps of our engine, by verb
 * @param env process.env
 * @throws CapacityError that lists every problem with its place: `SCRIPT` if only the engine's part has any, otherwise
 *   `CONFIG_INVALID`; or RATE_IMPOSSIBLE
 */
export function readSettings(script: Script, steps: StepTable, env: NodeJS.ProcessEnv): Settings {
  const { config } = script;
  const problems: Problem[] = [];
  const parse = <T>(schema: z.ZodType<T>, value: unknown, at: Path): T | undefined => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    problems.push(...problemsOf(parsed.error, at, [...NAMES, ...NESTED_NAMES]));
    return undefined;
  };
  const options = parse(optionsSchema, config.plugins?.[PLUGIN] ?? {}, ['config', 'plugins', PLUGIN]);
  const phases = parse(phasesSchema, config.phases ?? [], ['config', 'phases']) as Phase[] | undefined;
  const variables = readVariables(env, problems);
  const given = parse(targetSchema, variables.TARGET ?? config.target, ['config', 'target']);
  const tls = variables.TLS ?? false;
  const target = given && (tls ? overTls(given) : given);
  const control = controlOf(options?.control, variables);
  if (control && !control.token) {
    problems.push({ path: formatPath(['environment variable', 'CAPACITY_TOKEN']), message: 'required for control' });
  }
  const observed = variables.CAPACITY_OBSERVERS ?? options?.observers;
  const observerToken = control?.token ?? variables.CAPACITY_TOKEN ?? '';
  if (observed && !control && observerToken === '') {
    problems.push({ path: formatPath(['environment variable', 'CAPACITY_TOKEN']), message: 'required for observers' });
  }
  const profile = variables.PROFILE ?? options?.profile;
  problems.push(...variableProblems({ variables, hasControl: control !== undefined, profile, target }));
  const rooms = options && roomPlanOf(options, variables);
  const flows = flowsOf(script, steps);
  if (!engineOf(script, variables).external) problems.push(...mixedEngines(script));
  if (options && rooms) {
    const { engine } = engineOf(script, variables);
    problems.push(...optionProblems({ options, rooms, engine, hasControl: control !== undefined }));
    problems.push(...overTimeProblems(config.plugins?.[PLUGIN], variables, flows, engine));
  }
  const asRun = withGivenOptions(withTarget(script, target, tls), givenOptions(variables));
  const read = readEngineOptions(asRun, variables, steps);
  if (options && variables) {
    const ownServer = control !== undefined || typeof options.workers === 'object';
    const stays = flows.every(({ holds }) => holds);
    const around = { engine: engineOf(script, variables).engine, stays, ownServer };
    problems.push(...faultProblems({ options, variables, ...around, reconnection: read.options.reconnection }));
    problems.push(...byConnectionsProblems(options, around));
  }
  const controlTls = tlsOfOtherHosts(
    read.options.connection?.tls ?? {},
    options?.control?.tls,
    folderOf(script),
    ['config', 'plugins', PLUGIN, 'control', 'tls'],
    problems,
  );
  const { servername: _name, ...observerTls } = controlTls;
  for (const name of ['TRANSPORTS', 'COMPRESSION'] as const) {
    if (variables[name] === undefined || read.ours) continue;
    const message = 'it concerns our own engine only; the others have options of their own';
    problems.push({ path: formatPath(['environment variable', name]), message });
  }
  if (problems.length > 0 || !options || !phases || !target || !profile || !rooms) {
    throw invalidSettings('CONFIG_INVALID', 'the settings have mistakes', [
      ...problems,
      ...distinct(read.problems, problems),
    ]);
  }
  if (read.problems.length > 0) throw invalidSettings('SCRIPT', 'the script has mistakes', read.problems);
  const { RATE, HOLD, BROADCASTS, COLLECT, REDIS_URL, REDIS_NODES, CAPACITY_LIVE, CAPACITY_RESULTS } = variables;
  const { live, workers, overTime, observers: _, ...others } = options;
  const perUser = mostConnections(flows.map(({ connections }) => connections)).count;
  const sized = resizedPhases(phases, variables, perUser);
  const atTheRate = RATE === undefined ? sized : atRate(sized, RATE);
  return {
    ...others,
    ...engineOf(script, variables),
    workers: typeof workers === 'number' ? workers : undefined,
    workerSources: typeof workers === 'object' ? workers : undefined,
    target,
    tls,
    phases: atTheRate,
    load: loadOf(atTheRate, flows),
    connection: connectionTargetOf(read.options, flows[0]),
    engineOptions: read.ours ? read.options : undefined,
    redisUrl: REDIS_URL,
    redisNodes: REDIS_NODES,
    livePort: livePort(live, CAPACITY_LIVE),
    profile,
    overTime: overTime && { ...overTime, collect: COLLECT ?? overTime.collect },
    hold: overTime ? 0 : (HOLD ?? options.hold),
    results: CAPACITY_RESULTS ?? options.results,
    rooms,
    broadcasts: { ...options.broadcasts, count: overTime ? 0 : (BROADCASTS ?? options.broadcasts.count) },
    delivery: deliveryOf(options, BROADCASTS),
    control: control && { ...control, tls: controlTls },
    observers: observed && { each: observed, token: observerToken, tls: observerTls },
  };
}

/** The settings for one of Artillery's workers, which has only its share of the phases. The main thread has validated them. */
export function readWorkerSettings(script: Script, env: NodeJS.ProcessEnv): WorkerSettings {
  const variables = validVariables(env);
  const target = variables.TARGET ?? String(script.config.target);
  const { TLS: tls = false } = variables;
  const given = givenOptions(variables);
  return { ...engineOf(script, variables), tls, target: tls ? overTls(target) : target, given };
}

/** @returns the script with this target, and, if it is a stack over TLS, without a check of its certificate */
export function withTarget(script: Script, target: string | undefined, tls: boolean): Script {
  const { config } = script;
  return {
    ...script,
    config: { ...config, target, ...(tls && { tls: { ...(config.tls as object), rejectUnauthorized: false } }) },
  };
}

function overTls(target: string): string {
  return target.replace(/^(http|ws):/, '$1s:');
}

function deliveryOf({ delivery, broadcasts }: PluginOptions, count: number | undefined): Delivery | undefined {
  if (!delivery) return undefined;
  const { publish } = delivery;
  if (!publish) return { ...delivery, seconds: (count ?? broadcasts.count) * broadcasts.interval };
  const planned = { ...publish, count: count ?? publish.count };
  return { ...delivery, publish: planned, seconds: planned.count * planned.every };
}

/** The engine's options: fully validated if our engine drives the load, otherwise only those that concern connecting. */
function readEngineOptions(
  script: Script,
  variables: Environment,
  steps: StepTable,
): { ours: boolean; options: EngineOptions; problems: Problem[] } {
  const ours = engineOf(script, variables).engine === ENGINE;
  const problems = ours ? validateScript(script, steps) : [];
  const parsed = parseEngineOptions(ours && problems.length === 0 ? script : withKnownOptions(script));
  if ('options' in parsed) return { ours, options: parsed.options, problems };
  return { ours, options: {} as EngineOptions, problems: [...problems, ...distinct(parsed.problems, problems)] };
}

function engineOf(script: Script, { STOCK_ENGINE }: Environment): Pick<Settings, 'engine' | 'external'> {
  if (script._environment === EXTERNAL_ENVIRONMENT) return { engine: STOCK_ENGINE, external: true };
  return { engine: script.scenarios?.[0]?.engine ?? String(script.config.engine ?? ENGINE), external: false };
}

function controlOf(
  option: PluginOptions['control'],
  variables: Environment,
): { urls: string[]; token: string } | undefined {
  const urls = variables.CAPACITY_CONTROL?.split(',') ?? option?.urls;
  return urls && { urls, token: variables.CAPACITY_TOKEN ?? option?.token ?? '' };
}

function livePort(option: PluginOptions['live'], variable: number | undefined): number | undefined {
  if (variable !== undefined) return variable === 0 ? undefined : variable === 1 ? 0 : variable;
  if (option === false) return undefined;
  return option === true ? 0 : option.port;
}

/** Removes mistakes that another check has found, such as an invalid target. */
function distinct(more: Problem[], known: Problem[]): Problem[] {
  return more.filter(({ path }) => !known.some((one) => one.path === path));
}
