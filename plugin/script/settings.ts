/**
 * Reads a scenario once, for the run, the doctor and the engine's own check. A few environment variables override it, so
 * that the same file serves another target, rate, hold or number of broadcasts.
 */
import { z } from 'zod';
import type { TlsOptions } from '../../protocol/connection.ts';
import { CapacityError } from '../../protocol/errors.ts';
import { RELEASE_PARTS } from '../../protocol/link.ts';
import { isLoopback } from '../../protocol/loopback.ts';
import type { ObservedLayer } from '../../protocol/observation.ts';
import { formatPath, formatProblems, type Path, type Problem, problemsOf } from '../../protocol/problems.ts';
import type { RoomPlan } from '../../protocol/rooms.ts';
import { fixedChanges, scenarioOptionsSchema } from './connect-options.ts';
import { type ConnectionTarget, connectionTargetOf } from './connection-target.ts';
import { type DeliveryOptions, deliverySchema } from './delivery-options.ts';
import { type EngineOptions, parseEngineOptions, withKnownOptions } from './engine-options.ts';
import { faultSchema } from './fault-options.ts';
import { faultProblems } from './fault-problems.ts';
import { folderOf } from './files.ts';
import { type ConnectionsPerUser, type Flow, flowOf, mostConnections, type Repeated, type StepTable } from './flow.ts';
import { usersAtOnce } from './load.ts';
import { atRate, configuredRatePerSec } from './load-profile.ts';
import { overTimeProblems, resizedPhases } from './over-time.ts';
import { type Phase, phasesSchema, totalArrivals } from './phases.ts';
import {
  type Environment,
  environmentSchema,
  hostSchema,
  observerSchema,
  optionsSchema,
  type PluginOptions,
} from './plugin-options.ts';
import { ENGINE, type GivenOptions, PLUGIN, type Script, usesOurEngine, withGivenOptions } from './script.ts';
import { type Share, sharedPhases } from './shares.ts';
import { tlsOfOtherHosts, tlsSchema } from './tls-options.ts';
import { validateScript } from './validate.ts';
import { type WorkerSources, workerSourcesSchema } from './worker-sources.ts';

/** In this environment the pack's scenarios run on a third-party Socket.IO engine for Artillery. */
const EXTERNAL_ENVIRONMENT = 'stock';

export interface Load {
  /** All connections of the scenario. */
  connections: number;
  /** An upper estimate if virtual users leave by themselves. */
  connectionsAtOnce: number;
  /** Every virtual user keeps its connections until the run releases it. */
  stays: boolean;
  /** While connections are being opened; null if there are none. */
  ratePerSec: number | null;
  /** What each virtual user holds: one connection, unless a `connect` step has a `count`. */
  perUser: ConnectionsPerUser;
  /** What connections send again and again; empty if they do not. */
  messages: Repeated[];
}

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
const roomOptionsSchema = z.object({ room: optionsSchema.shape.room, rooms: optionsSchema.shape.rooms });
const NESTED_NAMES = ['interval', 'quiet', 'deadline'];
const FIX = 'correct the lines above';
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
  if (tls && (control || profile === 'embedded' || (target && !isLoopback(new URL(target).hostname)))) {
    const message =
      'only for the nginx of the stack that a run starts; for a server of your own, write an https:// target';
    problems.push({ path: formatPath(['environment variable', 'TLS']), message });
  }
  if ((variables.REDIS_NODES ?? 1) > 1) {
    const message = variables.REDIS_URL
      ? 'not beside REDIS_URL: whether that Redis is a cluster shows by itself'
      : 'only for the Redis of the stack that a run starts';
    const isOurs = !control && profile !== 'embedded' && (!target || isLoopback(new URL(target).hostname));
    if (variables.REDIS_URL || !isOurs) {
      problems.push({ path: formatPath(['environment variable', 'REDIS_NODES']), message });
    }
  }
  if (options?.delivery && engineOf(script, variables).engine !== ENGINE) {
    const path = formatPath(['config', 'plugins', PLUGIN, 'delivery']);
    problems.push({ path, message: `only engine ${ENGINE} tells who received what` });
  }
  const rooms = options && roomPlanOf(options, variables);
  if (rooms) problems.push(...roomProblems(rooms, options, engineOf(script, variables).engine));
  const flows = flowsOf(script, steps);
  if (options) {
    const { engine } = engineOf(script, variables);
    problems.push(...overTimeProblems(config.plugins?.[PLUGIN], variables, flows, engine));
  }
  if (control && typeof options?.workers === 'object' && options.workers.adminUi) {
    const path = formatPath(['config', 'plugins', PLUGIN, 'workers', 'adminUi']);
    problems.push({ path, message: 'not beside `control`, whose workers count their connections themselves' });
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
    throw invalid('CONFIG_INVALID', 'the settings have mistakes', [...problems, ...distinct(read.problems, problems)]);
  }
  if (read.problems.length > 0) throw invalid('SCRIPT', 'the script has mistakes', read.problems);
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

/**
 * The settings of a host that brings its share of the load.
 * @param settings of the whole scenario
 * @throws CapacityError SHARE_IMPOSSIBLE
 */
export function settingsOfShare(settings: Settings, script: Script, steps: StepTable, share: Share): Settings {
  if (settings.rooms.count > 1 && share.hosts > 1 && share.index === undefined) {
    const message = 'connections are spread over rooms by their numbers, which only numbered hosts can give them';
    throw new CapacityError('SHARE_IMPOSSIBLE', message, `set CAPACITY_HOST on each host, 0 to ${share.hosts - 1}`);
  }
  const phases = sharedPhases(settings.phases, share);
  return { ...settings, phases, load: loadOf(phases, flowsOf(script, steps)) };
}

/**
 * @returns undefined on a host that conducts its run itself
 * @throws CapacityError CONFIG_INVALID
 */
export function readHost(env: NodeJS.ProcessEnv): { conductor: string; share: Share } | undefined {
  const given = withoutEmpty(env);
  if (given.CAPACITY_CONDUCTOR === undefined) return undefined;
  const { data, error } = hostSchema.safeParse(given);
  if (!data)
    throw invalid('CONFIG_INVALID', 'the settings have mistakes', problemsOf(error, ['environment variable'], []));
  const { CAPACITY_CONDUCTOR: conductor, CAPACITY_HOSTS: hosts, CAPACITY_HOST: index } = data;
  if (index !== undefined && index >= hosts) {
    const path = formatPath(['environment variable', 'CAPACITY_HOST']);
    const message = `hosts are numbered from 0, so the last one of CAPACITY_HOSTS=${hosts} is ${hosts - 1}`;
    throw invalid('CONFIG_INVALID', 'the settings have mistakes', [{ path, message }]);
  }
  return { conductor, share: { hosts, index } };
}

/** Of an engine's host; the main thread has validated it. */
export function hostShareOf(env: NodeJS.ProcessEnv): Share {
  return readHost(env)?.share ?? { hosts: 1, index: undefined };
}

/** The settings for one of Artillery's workers, which has only its share of the phases. The main thread has validated them. */
export function readWorkerSettings(script: Script, env: NodeJS.ProcessEnv): WorkerSettings {
  const variables = environmentSchema.parse(withoutEmpty(env));
  const target = variables.TARGET ?? String(script.config.target);
  const { TLS: tls = false } = variables;
  const given = givenOptions(variables);
  return { ...engineOf(script, variables), tls, target: tls ? overTls(target) : target, given };
}

function givenOptions(variables: Environment): GivenOptions {
  return { transports: variables.TRANSPORTS, compression: variables.COMPRESSION };
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

/**
 * What the run will broadcast, for an engine in one of Artillery's workers.
 * @returns undefined without the plugin
 */
export function plannedBroadcasts(
  script: Script,
  env: NodeJS.ProcessEnv,
): { count: number; bytes: number } | undefined {
  const options = script.config.plugins?.[PLUGIN];
  if (options === undefined) return undefined;
  const { broadcasts, overTime } = (options ?? {}) as { broadcasts?: object; overTime?: object };
  const { count, bytes, byConnections } = optionsSchema.shape.broadcasts.parse(broadcasts);
  if (overTime !== undefined) return { count: 0, bytes };
  const withAll = environmentSchema.parse(withoutEmpty(env)).BROADCASTS ?? count;
  return { count: withAll + (RELEASE_PARTS - 1) * byConnections, bytes };
}

/** @returns the event of the server's own that a run counts, for an engine in one of Artillery's workers */
export function plannedDelivery(script: Script): DeliveryOptions | undefined {
  const options = script.config.plugins?.[PLUGIN] as { delivery?: unknown } | null | undefined;
  return options?.delivery === undefined ? undefined : deliverySchema.parse(options.delivery);
}

/** @returns the rooms over which a run spreads connections; undefined if there is one, or no plugin */
export function plannedRooms(script: Script, env: NodeJS.ProcessEnv): RoomPlan | undefined {
  const options = script.config.plugins?.[PLUGIN];
  if (options === undefined) return undefined;
  const plan = roomPlanOf(roomOptionsSchema.parse(options ?? {}), environmentSchema.parse(withoutEmpty(env)));
  return plan.count > 1 ? plan : undefined;
}

function roomPlanOf({ room: name, rooms }: Pick<PluginOptions, 'room' | 'rooms'>, { ROOMS }: Environment): RoomPlan {
  return { name, ...rooms, count: ROOMS ?? rooms.count };
}

function roomProblems({ count, perConnection }: RoomPlan, { delivery }: PluginOptions, engine: string): Problem[] {
  const at = (...path: string[]) => formatPath(['config', 'plugins', PLUGIN, 'rooms', ...path]);
  const problems: Problem[] = [];
  if (perConnection > count) {
    problems.push({ path: at('perConnection'), message: `there are only ${count} rooms (rooms.count, or ROOMS)` });
  }
  if (count > 1 && delivery) {
    problems.push({ path: at(), message: "with `delivery`, the server's own event goes wherever the server sends it" });
  }
  if (count > 1 && engine !== ENGINE) {
    problems.push({ path: at(), message: `only engine ${ENGINE} spreads its connections over rooms` });
  }
  return problems;
}

/** Broadcasts with fewer connections need some that leave when the run says so, and a ledger. */
function byConnectionsProblems(
  { broadcasts, delivery, fault }: PluginOptions,
  { engine, stays }: { engine: string; stays: boolean },
): Problem[] {
  if (broadcasts.byConnections === 0) return [];
  const path = formatPath(['config', 'plugins', PLUGIN, 'broadcasts', 'byConnections']);
  return [
    ...(engine === ENGINE ? [] : [`only engine ${ENGINE} tells who received what`]),
    ...(stays ? [] : ['its virtual users must stay: end the flow with `hold: true`']),
    ...(delivery ? ['not with `delivery`, whose event the server sends'] : []),
    ...(fault ? ['not with `fault`: the deployment is another one afterwards'] : []),
  ].map((message) => ({ path, message }));
}

function deliveryOf({ delivery, broadcasts }: PluginOptions, count: number | undefined): Delivery | undefined {
  if (!delivery) return undefined;
  const { publish } = delivery;
  if (!publish) return { ...delivery, seconds: (count ?? broadcasts.count) * broadcasts.interval };
  const planned = { ...publish, count: count ?? publish.count };
  return { ...delivery, publish: planned, seconds: planned.count * planned.every };
}

/** @returns the flows of scenarios on our engine, or of all scenarios if a third-party engine drives the load */
export function flowsOf(script: Script, steps: StepTable): Flow[] {
  const scenarios = script.scenarios ?? [];
  const ours = scenarios.filter((scenario) => usesOurEngine(scenario, script));
  return (ours.length > 0 ? ours : scenarios).map(({ flow, socketio }) => {
    const read = flowOf(flow ?? [], steps);
    const { data: own = {} } = scenarioOptionsSchema.safeParse(socketio);
    return { ...read, connection: { ...fixedChanges(own), ...read.connection } };
  });
}

function loadOf(phases: Phase[], flows: Flow[]): Load {
  const perUser = mostConnections(flows.map(({ connections }) => connections));
  return {
    connections: totalArrivals(phases) * perUser.count,
    connectionsAtOnce: usersAtOnce(phases, flows) * perUser.count,
    stays: flows.every(({ holds }) => holds),
    ratePerSec: configuredRatePerSec(phases, perUser),
    perUser,
    messages: flows.flatMap(({ repeated }) => repeated),
  };
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

/** @returns the variables that are right: a wrong one is one more problem, and hides none of the others */
function readVariables(env: NodeJS.ProcessEnv, problems: Problem[]): Environment {
  const given = withoutEmpty(env);
  const { data, error } = environmentSchema.safeParse(given);
  if (data) return data;
  problems.push(...problemsOf(error, ['environment variable'], []));
  const wrong = error.issues.map(({ path }) => path[0]);
  return environmentSchema.parse(Object.fromEntries(Object.entries(given).filter(([name]) => !wrong.includes(name))));
}

/** `RATE= npx artillery …` means "not set". */
function withoutEmpty(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

/** Removes mistakes that another check has found, such as an invalid target. */
function distinct(more: Problem[], known: Problem[]): Problem[] {
  return more.filter(({ path }) => !known.some((one) => one.path === path));
}

function invalid(code: 'CONFIG_INVALID' | 'SCRIPT', message: string, problems: Problem[]): CapacityError {
  return new CapacityError(code, `${message}\n${formatProblems(problems)}`, FIX);
}
