/** The plugin's options, and the environment variables that take precedence over them. */
import { z } from 'zod';
import { type InputProblem, parseWithSchema } from '../../../protocol/base/problems.ts';
import { LAYER_NAMES } from '../../../protocol/documents/named-layers.ts';
import { splitUserInfo } from '../../../protocol/wire/basic-auth.ts';
import { TRANSPORTS, type Transport, type TransportsName } from '../../../protocol/wire/connection.ts';
import { MAX_BROADCAST_BYTES } from '../../../protocol/wire/events.ts';
import { ROOM_ORDERS } from '../../../protocol/wire/rooms.ts';
import { durationSchema } from '../duration.ts';
import { deliveryOptionsSchema } from './delivery-options.ts';
import { faultOptionsSchema } from './fault-options.ts';
import { tlsOptionsSchema } from './files.ts';
import { layersSchema, workerSourcesSchema } from './worker-sources.ts';

const seconds = z.number().nonnegative();
const whole = z.int().nonnegative();
const positive = z.int().positive();
const name = z.string().min(1);
/** Schema of a whole number in an environment variable. */
const envInteger = z.coerce.number().int();
const onOff = z.stringbool({ error: 'must be on or off' }).optional();
const profile = z.enum(['full', 'embedded']);
const MAX_PORT = 65_535;
const NO_USER_INFO = 'a control address cannot have user info: it is authorized by the control token (`control.token`)';
const controlUrl = z.url().refine((url) => !hasUserInfo(url), NO_USER_INFO);

export const pluginOptionsSchema = z.strictObject({
  room: z
    .string()
    .min(1)
    .default('capacity')
    .describe('room of the broadcasts, which the flow joins and `rooms` of `instrument(io)` allows'),
  broadcasts: z
    .strictObject({
      count: whole.default(20).describe('number of broadcasts'),
      interval: z.number().positive().default(1).describe('seconds between two intended send times'),
      bytes: positive
        .max(MAX_BROADCAST_BYTES, `expected at most ${MAX_BROADCAST_BYTES}`)
        .default(1000)
        .describe('characters of payload'),
      binary: z.boolean().default(false).describe('sends that many bytes as an attachment, not characters'),
    })
    .prefault({})
    .describe('broadcasts that the run publishes once all are connected'),
  rooms: z
    .strictObject({
      count: positive.default(1).describe('number of rooms: `<room>:0`, `<room>:1`, …'),
      perConnection: positive.default(1).describe('number of rooms that each connection joins'),
      order: z.enum(ROOM_ORDERS).default('turn').describe('order in which broadcasts go to the rooms'),
      seed: whole.default(1).describe('seed of the random order'),
    })
    .prefault({})
    .describe('several rooms instead of one; each broadcast goes to one of them'),
  delivery: deliveryOptionsSchema
    .optional()
    .describe('an [event of your own server](../method/delivery.md) to count instead of these broadcasts'),
  counts: z
    .array(
      z.preprocess(
        (one) => (typeof one === 'string' ? { event: one } : one),
        z
          .strictObject({
            event: name.describe('its name'),
            from: name.optional().describe('event of the users that the server sends on, one copy for each'),
            counter: name
              .optional()
              .describe(
                'or the server’s counter of such messages: a metric of `workers.prometheus`, or a path into `workers.json`',
              ),
          })
          .refine(({ from, counter }) => !(from && counter), 'give `from` or `counter`'),
      ),
    )
    .min(1)
    .max(8)
    .optional()
    .describe('events without ids whose [copies are counted](../method/delivery.md#counts)'),
  clients: z
    .string()
    .optional()
    .describe(
      'scenario that the [run’s own clients](../guide/logins.md#a-user-for-each-connection) run; default: the first',
    ),
  overTime: z
    .strictObject({
      collect: z.boolean().default(true).describe('the workers collect their garbage before each reading'),
      every: z.number().min(2).optional().describe('seconds between readings; by default, one after each wave'),
    })
    .optional()
    .describe('[memory over time](../method/memory.md), instead of `hold`, `broadcasts` and `delivery`'),
  fault: faultOptionsSchema
    .optional()
    .describe('a planned fault during the broadcasts; needs `reconnection` and `hold: true`'),
  hold: seconds.default(10).describe('seconds with all connected, for idle CPU or the messages of `every`'),
  warmUp: whole
    .default(1000)
    .describe(
      'short connections before the baseline: per worker with `instrument(io)`, else at most as many as the load has',
    ),
  singleRoundTrips: whole.default(20).describe('round trips without other connections'),
  drain: z
    .strictObject({
      quiet: seconds.default(1).describe('seconds without a receipt, once no receipt is missing'),
      deadline: z.number().positive().default(15).describe('seconds without progress while receipts are missing'),
    })
    .prefault({})
    .describe('when the run closes the ledger of the broadcasts'),
  stack: z
    .strictObject({
      port: positive.max(MAX_PORT).default(8080).describe('its port on 127.0.0.1; any other target is your own server'),
    })
    .optional()
    .describe('measures the [bundled deployment](../guide/getting-started.md#the-stack), which the run starts'),
  /** The option `control` describes the server under test. If it is set, the server is the user's own. */
  control: z
    .strictObject({
      urls: z
        .array(controlUrl)
        .min(1)
        .describe('`http://host:port` of each worker; a host name stands for all of its addresses'),
      token: z.string().min(16).optional().describe('control token of the server'),
      tls: tlsOptionsSchema.optional().describe('TLS options of `https` control ports that differ from the engine’s'),
    })
    .optional()
    .describe('the control ports of [your own server](../guide/own-server.md)'),
  profile: profile
    .optional()
    .describe('nginx, PM2 and Redis, or a single worker; default: `full`, or `embedded` if one is not installed'),
  workers: z
    .union([positive, workerSourcesSchema])
    .optional()
    .describe('workers of the bundled deployment, or sources of memory and CPU of your own'),
  layers: layersSchema
    .optional()
    .describe(`the same for parts of your own deployment: ${LAYER_NAMES.map((name) => `\`${name}\``).join(', ')}`),
  memoryBudgetBytes: positive.default(2 * 1024 ** 3).describe('worker memory of the computed capacity'),
  live: z
    .union([z.boolean(), z.strictObject({ port: whole.max(MAX_PORT).default(0).describe('0: a free port') })])
    .default(false)
    .describe('a page on 127.0.0.1 that shows the run in progress'),
  results: z.string().min(1).default('results').describe('parent of the runs’ folders'),
});

export const runEnvironmentSchema = z.object({
  TARGET: z
    .url({ protocol: /^(https?|wss?)$/ })
    .optional()
    .describe('in place of `config.target`: your own server; `user:password@` is sent as basic authorization'),
  STACK_PORT: envInteger.min(1).max(MAX_PORT).optional().describe('in place of `stack.port`'),
  RATE: envInteger.positive().optional().describe('connections per second; each phase keeps its number of connections'),
  HOLD: z.coerce.number().nonnegative().optional().describe('in place of `hold`'),
  BROADCASTS: envInteger.nonnegative().optional().describe('in place of `broadcasts.count`'),
  ROOMS: envInteger.positive().optional().describe('in place of `rooms.count`'),
  COLLECT: onOff.describe('in place of `overTime.collect`'),
  CONNECTIONS: envInteger
    .positive()
    .optional()
    .describe('with `overTime` or `fault`: connections of the largest phase; other phases in proportion'),
  DURATION: durationSchema.optional().describe('with `overTime`: length of each phase with arrivals, such as `8h`'),
  PROFILE: profile.optional().describe('in place of `profile`'),
  TRANSPORTS: z
    .enum(Object.keys(TRANSPORTS) as TransportsName[])
    .transform((name): readonly Transport[] => TRANSPORTS[name])
    .optional()
    .describe('in place of the engine’s `transports`; `default`: polling, then WebSocket'),
  COMPRESSION: onOff.describe('in place of the engine’s `compression`, and for the bundled deployment'),
  TLS: onOff.describe('`on`: the bundled deployment uses TLS'),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/ })
    .optional()
    .describe('a Redis in place of the stack’s; of a remote target, the one to read'),
  REDIS_NODES: envInteger
    .refine((count) => count === 1 || (count >= 3 && count <= 16), 'expected 1, or 3 to 16 nodes of a Redis Cluster')
    .optional()
    .describe('nodes of the stack’s Redis: 1, or 3 to 16 of a Redis Cluster'),
  CAPACITY_LIVE: envInteger
    .min(0)
    .max(MAX_PORT)
    .optional()
    .describe('in place of `live`: 0 for no page, 1 for a free port, or a port'),
  CAPACITY_RESULTS: z.string().optional().describe('in place of `results`'),
  CAPACITY_CONTROL: z
    .string()
    .refine((urls) => urls.split(',').every((url) => URL.canParse(url)), 'expected URLs, separated by commas')
    .refine((urls) => !urls.split(',').some(hasUserInfo), NO_USER_INFO)
    .optional()
    .describe('in place of `control.urls`, separated by commas'),
  CAPACITY_TOKEN: z.string().min(16).optional().describe('in place of `control.token`'),
});

/**
 * Environment variables that a generator host reads. All except CAPACITY_CONDUCTOR have an effect only together with
 * it.
 */
export const hostEnvironmentSchema = z.object({
  CAPACITY_CONDUCTOR: z.string().describe('the join token that [`conduct`](../guide/several-hosts.md) prints'),
  CAPACITY_HOSTS: envInteger.positive().default(1).describe('number of hosts that share the load'),
  CAPACITY_HOST: envInteger
    .nonnegative()
    .optional()
    .describe('number of this host, from 0; without it, all hosts have the same share'),
});

/** Environment variables that change the output of a run, but not its measurement. */
export const terminalEnvironmentSchema = z.object({
  CI: z.string().optional().describe('any value: no progress line'),
  TERM: z.string().optional().describe('`dumb`: no progress line'),
  NO_COLOR: z.string().optional().describe('any value: no colours'),
});

function hasUserInfo(url: string): boolean {
  return URL.canParse(url) && Object.keys(splitUserInfo(url).headers).length > 0;
}

export type PluginOptions = z.infer<typeof pluginOptionsSchema>;
export type Environment = z.infer<typeof runEnvironmentSchema>;
export type OverTimeOptions = NonNullable<PluginOptions['overTime']>;

/** Returns the values of the environment variables, with defaults. If a variable is invalid, returns only defaults. */
export function readRunEnvironment(env: NodeJS.ProcessEnv, problems: InputProblem[]): Environment {
  const read = parseWithSchema(runEnvironmentSchema, withoutEmpty(env), ['environment variable'], problems);
  return read ?? runEnvironmentSchema.parse({});
}

/** Removes variables with an empty value: `RATE= npx artillery …` means that RATE is not set. */
export function withoutEmpty(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

export function withVariables({ live, ...options }: PluginOptions, variables: Environment) {
  const { overTime, broadcasts, rooms, control } = options;
  const { CAPACITY_CONTROL, CAPACITY_TOKEN, CAPACITY_LIVE } = variables;
  const urls = CAPACITY_CONTROL?.split(',') ?? control?.urls;
  return {
    ...options,
    profile: variables.PROFILE ?? options.profile,
    results: variables.CAPACITY_RESULTS ?? options.results,
    overTime: overTime && { ...overTime, collect: variables.COLLECT ?? overTime.collect },
    hold: overTime ? 0 : (variables.HOLD ?? options.hold),
    broadcasts: { ...broadcasts, count: overTime ? 0 : (variables.BROADCASTS ?? broadcasts.count) },
    // If there is a single room, its name is the option `room`.
    rooms: { name: options.room, ...rooms, count: variables.ROOMS ?? rooms.count },
    control: urls && { urls, token: CAPACITY_TOKEN ?? control?.token ?? '' },
    livePort: livePortOf(live, CAPACITY_LIVE),
  };
}

export type RunOptions = ReturnType<typeof withVariables>;

/** Returns the port of the live view: 0 for any free port, undefined for no live view. */
function livePortOf(option: PluginOptions['live'], variable: number | undefined): number | undefined {
  if (variable !== undefined) return variable === 0 ? undefined : variable === 1 ? 0 : variable;
  if (option === false) return undefined;
  return option === true ? 0 : option.port;
}
