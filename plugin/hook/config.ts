/**
 * The settings of a run, parsed in this one place: what the scenario says, over which a few environment variables go,
 * so that the same file serves another target, rate, hold or number of broadcasts.
 */
import { z } from 'zod';
import { CapacityError } from '../../protocol/errors.ts';
import { type Crowd, crowdOf, largestCrowd } from '../../protocol/flow.ts';
import { formatPath, formatProblems, type Path, type Problem, problemsOf } from '../../protocol/problems.ts';
import { atRate } from './load-profile.ts';
import { type Phase, phasesSchema } from './phases.ts';
import { ENGINE, PLUGIN, type Script, STOCK_ENVIRONMENT } from './script.ts';

const seconds = z.number().nonnegative();
const positive = z.number().int().positive();

export const optionsSchema = z.strictObject({
  /** Room that the scenario's virtual users join, and that the broadcasts go to. */
  room: z.string().min(1).default('capacity'),
  broadcasts: z
    .strictObject({
      count: z.number().int().nonnegative().default(20),
      /** Seconds between two intended send times. */
      interval: z.number().positive().default(1),
      /** Characters of payload. */
      bytes: positive.default(1000),
    })
    .prefault({}),
  /** Idle seconds at full target, for the CPU of connections that only wait. */
  hold: seconds.default(10),
  /** Short connections per worker before the baseline, which is then one of a server at work; 0 for none. */
  warmUp: z.number().int().nonnegative().default(1000),
  /** Round trips of a broadcast with nobody else connected, before the load. */
  singleRoundTrips: z.number().int().nonnegative().default(20),
  drain: z
    .strictObject({
      /** Seconds without a receipt after which the last broadcast counts as delivered as far as it ever will be. */
      quiet: seconds.default(1),
      /** Seconds after the last broadcast at which the books are closed in any case. */
      deadline: z.number().positive().default(15),
    })
    .prefault({}),
  /**
   * Where the workers' control namespace listens. It says that the target is a server of your own: a run then never
   * starts a stack, and a target that refuses is an error. Without it, a target on this machine that nothing listens
   * on gets a stack of ours for the time of the run, and one that is up is found by its own state file.
   */
  control: z.strictObject({ urls: z.array(z.url()).min(1), token: z.string().min(16) }).optional(),
  /** `full`: nginx, PM2 and Redis. `embedded`: one worker with the in-memory adapter, no proxy. */
  profile: z.enum(['full', 'embedded']).default('full'),
  /** Socket.IO workers of a stack that the run starts; default: as many as cores and file descriptors ask for. */
  workers: positive.optional(),
  /** Memory for the Socket.IO workers that the capacity is computed for. */
  memoryBudgetBytes: positive.default(2 * 1024 ** 3),
  /** A page on loopback that shows the run while it goes on; port 0 takes a free one. */
  live: z.union([z.boolean(), z.strictObject({ port: z.number().int().min(0).max(65_535).default(0) })]).default(false),
  /** Folder that gets one folder per run. */
  results: z.string().min(1).default('results'),
});

export const environmentSchema = z.object({
  TARGET: z.url({ protocol: /^(https?|wss?)$/ }).optional(),
  RATE: z.coerce.number().int().positive().optional(),
  HOLD: z.coerce.number().nonnegative().optional(),
  BROADCASTS: z.coerce.number().int().nonnegative().optional(),
  PROFILE: z.enum(['full', 'embedded']).optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }).optional(),
  /** In place of the option `live`: 0 for no page, 1 for one on a free port, or its port. */
  CAPACITY_LIVE: z.coerce.number().int().min(0).max(65_535).optional(),
  /** Goes before the option `results`. */
  CAPACITY_RESULTS: z.string().optional(),
  /** Control addresses of the workers, with commas between them. */
  CAPACITY_CONTROL: z
    .string()
    .refine((urls) => urls.split(',').every((url) => URL.canParse(url)), 'expected URLs with commas between them')
    .optional(),
  CAPACITY_TOKEN: z.string().min(16).optional(),
  /** The engine of environment `stock`. */
  STOCK_ENGINE: z.enum(['socketio', 'socketio-v3']).default('socketio'),
});

/** What the terminal's environment asks of the output; it has no say in what is measured. */
export const terminalSchema = z.object({
  /** Any value: no live line. */
  CI: z.string().optional(),
  /** `dumb`: no live line. */
  TERM: z.string().optional(),
  /** Any value: no colours. */
  NO_COLOR: z.string().optional(),
});

export type HookOptions = z.infer<typeof optionsSchema>;
type Environment = z.infer<typeof environmentSchema>;

export interface HookConfig extends Omit<HookOptions, 'live'> {
  target: string;
  /** In seconds, at the rate that was asked for. */
  phases: Phase[];
  redisUrl: string | undefined;
  /** Port of the live view, 0 for a free one; undefined for no view. */
  livePort: number | undefined;
  /** Artillery engine that drives the load. */
  engine: string;
  /** What each virtual user holds: one connection, unless a `connect` step has a `count`. */
  crowd: Crowd;
  /** The flow was written for our engine and runs on one of Artillery's own. */
  stock: boolean;
}

export type WorkerConfig = Pick<HookConfig, 'target' | 'engine' | 'stock'>;

const NAMES = [optionsSchema, optionsSchema.shape.control.unwrap()].flatMap((schema) => Object.keys(schema.shape));
const NESTED_NAMES = ['count', 'interval', 'bytes', 'quiet', 'deadline'];

/**
 * @param script as Artillery hands it over
 * @param env process.env
 * @throws CapacityError `CONFIG_INVALID` that lists every problem with its place, `RATE_IMPOSSIBLE`
 */
export function parseHookConfig(script: Script, env: NodeJS.ProcessEnv): HookConfig {
  const { config } = script;
  const problems: Problem[] = [];
  const parse = <T>(schema: z.ZodType<T>, value: unknown, at: Path): T | undefined => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    problems.push(...problemsOf(parsed.error, at, [...NAMES, ...NESTED_NAMES]));
    return undefined;
  };
  const options = parse(optionsSchema, config.plugins?.[PLUGIN] ?? {}, ['config', 'plugins', PLUGIN]);
  const phases = parse(phasesSchema, config.phases ?? [], ['config', 'phases']);
  const variables = parse(environmentSchema, withoutEmpty(env), ['environment variable']);
  const target = parse(targetSchema, variables?.TARGET ?? config.target, ['config', 'target']);
  const control = controlOf(options?.control, variables);
  if (control && !control.token) {
    problems.push({ path: formatPath(['environment variable', 'CAPACITY_TOKEN']), message: 'needed for the control' });
  }
  if (problems.length > 0 || !options || !phases || !variables || !target) {
    throw new CapacityError('CONFIG_INVALID', `the settings have mistakes\n${formatProblems(problems)}`, FIX);
  }
  const { RATE, HOLD, BROADCASTS, PROFILE, REDIS_URL, CAPACITY_LIVE, CAPACITY_RESULTS } = variables;
  const { live, ...others } = options;
  return {
    ...others,
    ...loadOf(script, variables),
    target,
    phases: RATE === undefined ? (phases as Phase[]) : atRate(phases as Phase[], RATE),
    redisUrl: REDIS_URL,
    livePort: livePort(live, CAPACITY_LIVE),
    crowd: largestCrowd((script.scenarios ?? []).map(({ flow }) => crowdOf(flow ?? []))),
    profile: PROFILE ?? options.profile,
    hold: HOLD ?? options.hold,
    results: CAPACITY_RESULTS ?? options.results,
    broadcasts: { ...options.broadcasts, count: BROADCASTS ?? options.broadcasts.count },
    control,
  };
}

/** The same for one of Artillery's workers, whose phases are its share only. The main thread has checked it all. */
export function parseWorkerConfig(script: Script, env: NodeJS.ProcessEnv): WorkerConfig {
  const variables = environmentSchema.parse(withoutEmpty(env));
  return { ...loadOf(script, variables), target: variables.TARGET ?? String(script.config.target) };
}

function loadOf(script: Script, { STOCK_ENGINE }: Environment): Pick<HookConfig, 'engine' | 'stock'> {
  if (script._environment === STOCK_ENVIRONMENT) return { engine: STOCK_ENGINE, stock: true };
  return { engine: script.scenarios?.[0]?.engine ?? String(script.config.engine ?? ENGINE), stock: false };
}

const FIX = 'correct the lines above';
const targetSchema = z.url({ protocol: /^(https?|wss?)$/, error: 'expected a URL such as http://localhost:3000' });

function controlOf(
  option: HookOptions['control'],
  variables: Environment | undefined,
): { urls: string[]; token: string } | undefined {
  const urls = variables?.CAPACITY_CONTROL?.split(',') ?? option?.urls;
  return urls && { urls, token: variables?.CAPACITY_TOKEN ?? option?.token ?? '' };
}

function livePort(option: HookOptions['live'], variable: number | undefined): number | undefined {
  if (variable !== undefined) return variable === 0 ? undefined : variable === 1 ? 0 : variable;
  if (option === false) return undefined;
  return option === true ? 0 : option.port;
}

/** `RATE= npx artillery …` means "not set". */
function withoutEmpty(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}
