/**
 * Reads a scenario once, for the run, the doctor and the engine's own check. A few environment variables override it, so
 * that the same file serves another target, rate, hold or number of broadcasts.
 */
import { z } from 'zod';
import { CapacityError } from '../../protocol/errors.ts';
import { isLoopback } from '../../protocol/loopback.ts';
import { formatPath, formatProblems, type Path, type Problem, problemsOf } from '../../protocol/problems.ts';
import type { RoomPlan } from '../../protocol/rooms.ts';
import { fixedChanges, scenarioOptionsSchema } from './connect-options.ts';
import { type ConnectionTarget, connectionTargetOf } from './connection-target.ts';
import { type DeliveryOptions, deliverySchema } from './delivery-options.ts';
import { type EngineOptions, parseEngineOptions, withKnownOptions } from './engine-options.ts';
import { type ConnectionsPerUser, type Flow, flowOf, mostConnections, type Repeated, type StepTable } from './flow.ts';
import { usersAtOnce } from './load.ts';
import { atRate, configuredRatePerSec } from './load-profile.ts';
import { overTimeProblems, resizedPhases } from './over-time.ts';
import { type Phase, phasesSchema, totalArrivals } from './phases.ts';
import { type Environment, environmentSchema, optionsSchema, type PluginOptions } from './plugin-options.ts';
import { ENGINE, type GivenOptions, PLUGIN, type Script, usesOurEngine, withGivenOptions } from './script.ts';
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

export interface Settings extends Omit<PluginOptions, 'live' | 'workers' | 'delivery' | 'rooms'> {
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
  redisUrl: string | undefined;
  /** Port of the live view, 0 for a free one; undefined for no view. */
  livePort: number | undefined;
  /** Name of the Artillery engine that drives the load. */
  engine: string;
  /** Undefined if a third-party engine drives the load. */
  engineOptions: EngineOptions | undefined;
  /** The flow was written for our engine, but runs on a third-party one. */
  external: boolean;
}

export interface WorkerSettings extends Pick<Settings, 'target' | 'tls' | 'engine' | 'external'> {
  given: GivenOptions;
}

const NAMES = [
  optionsSchema,
  optionsSchema.shape.control.unwrap(),
  optionsSchema.shape.rooms.unwrap(),
  optionsSchema.shape.overTime.unwrap(),
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
  const variables = parse(environmentSchema, withoutEmpty(env), ['environment variable']);
  const given = parse(targetSchema, variables?.TARGET ?? config.target, ['config', 'target']);
  const tls = variables?.TLS ?? false;
  const target = given && (tls ? overTls(given) : given);
  const control = controlOf(options?.control, variables);
  if (control && !control.token) {
    problems.push({ path: formatPath(['environment variable', 'CAPACITY_TOKEN']), message: 'required for control' });
  }
  const profile = variables?.PROFILE ?? options?.profile;
  if (tls && (control || profile === 'embedded' || (target && !isLoopback(new URL(target).hostname)))) {
    const message =
      'only for the nginx of the stack that a run starts; for a server of your own, write an https:// target';
    problems.push({ path: formatPath(['environment variable', 'TLS']), message });
  }
  if (options?.delivery && variables && engineOf(script, variables).engine !== ENGINE) {
    const path = formatPath(['config', 'plugins', PLUGIN, 'delivery']);
    problems.push({ path, message: `only engine ${ENGINE} tells who received what` });
  }
  const rooms = options && variables && roomPlanOf(options, variables);
  if (rooms) problems.push(...roomProblems(rooms, options, engineOf(script, variables).engine));
  const flows = flowsOf(script, steps);
  if (options && variables) {
    const { engine } = engineOf(script, variables);
    problems.push(...overTimeProblems(config.plugins?.[PLUGIN], variables, flows, engine));
  }
  if (control && typeof options?.workers === 'object' && options.workers.adminUi) {
    const path = formatPath(['config', 'plugins', PLUGIN, 'workers', 'adminUi']);
    problems.push({ path, message: 'not beside `control`, whose workers count their connections themselves' });
  }
  const asRun = withGivenOptions(withTarget(script, target, tls), givenOptions(variables));
  const read = readEngineOptions(asRun, variables, steps);
  for (const name of ['TRANSPORTS', 'COMPRESSION'] as const) {
    if (variables?.[name] === undefined || read.ours) continue;
    const message = 'it concerns our own engine only; the others have options of their own';
    problems.push({ path: formatPath(['environment variable', name]), message });
  }
  if (problems.length > 0 || !options || !phases || !variables || !target || !profile || !rooms) {
    throw invalid('CONFIG_INVALID', 'the settings have mistakes', [...problems, ...distinct(read.problems, problems)]);
  }
  if (read.problems.length > 0) throw invalid('SCRIPT', 'the script has mistakes', read.problems);
  const { RATE, HOLD, BROADCASTS, COLLECT, REDIS_URL, CAPACITY_LIVE, CAPACITY_RESULTS } = variables;
  const { live, workers, overTime, ...others } = options;
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
    livePort: livePort(live, CAPACITY_LIVE),
    profile,
    overTime: overTime && { ...overTime, collect: COLLECT ?? overTime.collect },
    hold: overTime ? 0 : (HOLD ?? options.hold),
    results: CAPACITY_RESULTS ?? options.results,
    rooms,
    broadcasts: { ...options.broadcasts, count: overTime ? 0 : (BROADCASTS ?? options.broadcasts.count) },
    delivery: deliveryOf(options, BROADCASTS),
    control,
  };
}

/** The settings for one of Artillery's workers, which has only its share of the phases. The main thread has validated them. */
export function readWorkerSettings(script: Script, env: NodeJS.ProcessEnv): WorkerSettings {
  const variables = environmentSchema.parse(withoutEmpty(env));
  const target = variables.TARGET ?? String(script.config.target);
  const { TLS: tls = false } = variables;
  const given = givenOptions(variables);
  return { ...engineOf(script, variables), tls, target: tls ? overTls(target) : target, given };
}

function givenOptions(variables: Environment | undefined): GivenOptions {
  return { transports: variables?.TRANSPORTS, compression: variables?.COMPRESSION };
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
  const { count, bytes } = optionsSchema.shape.broadcasts.parse(broadcasts);
  if (overTime !== undefined) return { count: 0, bytes };
  return { count: environmentSchema.parse(withoutEmpty(env)).BROADCASTS ?? count, bytes };
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
  variables: Environment | undefined,
  steps: StepTable,
): { ours: boolean; options: EngineOptions; problems: Problem[] } {
  const ours = variables !== undefined && engineOf(script, variables).engine === ENGINE;
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
  variables: Environment | undefined,
): { urls: string[]; token: string } | undefined {
  const urls = variables?.CAPACITY_CONTROL?.split(',') ?? option?.urls;
  return urls && { urls, token: variables?.CAPACITY_TOKEN ?? option?.token ?? '' };
}

function livePort(option: PluginOptions['live'], variable: number | undefined): number | undefined {
  if (variable !== undefined) return variable === 0 ? undefined : variable === 1 ? 0 : variable;
  if (option === false) return undefined;
  return option === true ? 0 : option.port;
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
