/** Parses the configuration of a worker from its environment at the start. All problems are reported together. */
import { z } from 'zod';
import { isSecretName } from '../protocol/base/secrets/secret-text.ts';
import { CapacityError } from '../protocol/codes/errors.ts';
import { ADAPTERS, type AdapterName } from './adapters/index.ts';
import { portSchema, tokenSchema, workerSchema } from './schemas.ts';
import { type Tunings, tuningEntries } from './tunings.ts';
import { PLAIN_SERVER_NAME, WEBSOCKETS, type WebSocketsName } from './websockets/index.ts';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const TRANSPORTS = ['websocket', 'polling'] as const;

/** Switch: `on` or `off`. Also accepts true/false, yes/no, 1/0. */
const onOff = z.stringbool({ error: 'must be on or off' });
const milliseconds = z.coerce.number().int().positive();
const transports = z
  .string()
  .transform((list) => [...new Set(list.split(',').map((name) => name.trim()))])
  .pipe(z.array(z.enum(TRANSPORTS)).min(1));

/**
 * Variables of all workers. Adapters have further variables. Unknown variables are allowed, because the environment has
 * many others.
 */
export const workerEnvironmentSchema = z.object({
  CAPACITY_WORKER: workerSchema
    .default('w0')
    .describe('the worker’s name: lower-case letters and digits, one for each'),
  CAPACITY_HOST: z.string().default('127.0.0.1').describe('address on which Socket.IO listens'),
  CAPACITY_PORT: portSchema.default(0).describe('its port; 0 takes a free one'),
  CAPACITY_CONTROL_HOST: z.string().default('127.0.0.1').describe('address of control, `/metrics` and `/healthz`'),
  CAPACITY_CONTROL_PORT: portSchema.default(0).describe('its port; 0 takes a free one'),
  CAPACITY_TOKEN: tokenSchema.describe('control token, at least 16 characters'),
  CAPACITY_ADAPTER: z
    .enum(Object.keys(ADAPTERS) as AdapterName[])
    .optional()
    .describe('an adapter; default: `redis` where `REDIS_URL` is set, else `in-memory`'),
  CAPACITY_WEBSOCKETS: z
    .enum([...(Object.keys(WEBSOCKETS) as WebSocketsName[]), PLAIN_SERVER_NAME])
    .default('ws')
    .describe(
      '`eiows` takes `npm install eiows`, `uWebSockets.js` `npm install uws-pack` (up to Node 22); `plain-ws`: without Socket.IO',
    ),
  CAPACITY_MODULES: z.string().optional().describe('folder in whose `node_modules` the package of that server is'),
  CAPACITY_DRAIN_MS: milliseconds.default(5000).describe('how long a shutdown waits for connections to close'),
  CAPACITY_PING_INTERVAL_MS: milliseconds.default(25_000).describe('Engine.IO’s ping interval'),
  CAPACITY_PING_TIMEOUT_MS: milliseconds.default(20_000).describe('how long a ping’s answer may take'),
  CAPACITY_RECOVERY_SECONDS: z.coerce
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('connection state recovery: how long a dropped session is kept; 0 keeps none'),
  CAPACITY_TRANSPORTS: transports.default([...TRANSPORTS]).describe('separated by commas'),
  CAPACITY_LOG_LEVEL: z.enum(LOG_LEVELS).default('info').describe('what is logged'),
});

const tuningsSchema = z.object(
  Object.fromEntries(tuningEntries().map(([, { variable, byDefault }]) => [variable, onOff.default(byDefault)])),
);

/** All variables that a worker can read, with their schemas. */
export const WORKER_VARIABLES: Record<string, z.ZodType> = Object.assign(
  {},
  ...Object.values(ADAPTERS).map(({ environment }) => environment.shape),
  tuningsSchema.shape,
  workerEnvironmentSchema.shape,
);

export type ServerConfig = ReturnType<typeof parseServerConfig>;

/**
 * @param environment usually `process.env`; an empty value counts as unset
 * @throws CapacityError CONFIG_INVALID that lists every wrong variable
 */
export function parseServerConfig(environment: Record<string, string | undefined>) {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const settings = workerEnvironmentSchema.safeParse(given);
  const tunings = tuningsSchema.safeParse(given);
  const adapterName = chosenAdapter(given);
  const adapter = ADAPTERS[adapterName].environment.safeParse(given);
  const unsupported = unsupportedByPlain(given, settings.data?.CAPACITY_RECOVERY_SECONDS);
  const unrecoverable = settings.data?.CAPACITY_RECOVERY_SECONDS && !ADAPTERS[adapterName].recovers;
  if (!settings.success || !tunings.success || !adapter.success || unsupported.length > 0 || unrecoverable) {
    const problems = [
      ...(unrecoverable ? [`CAPACITY_RECOVERY_SECONDS: the adapter ${adapterName} cannot restore sessions`] : []),
      ...describe(settings.error, given),
      ...describe(tunings.error, given),
      ...describe(adapter.error, given, `, but CAPACITY_ADAPTER=${adapterName} needs it`),
      ...unsupported,
    ];
    const list = problems.map((problem) => `\n  ${problem}`).join('');
    throw new CapacityError('CONFIG_INVALID', `the server's environment has errors:${list}`, 'correct these variables');
  }
  const env = settings.data;
  return {
    worker: env.CAPACITY_WORKER,
    host: env.CAPACITY_HOST,
    port: env.CAPACITY_PORT,
    controlHost: env.CAPACITY_CONTROL_HOST,
    controlPort: env.CAPACITY_CONTROL_PORT,
    token: env.CAPACITY_TOKEN,
    adapter: { name: adapterName, settings: adapter.data },
    websockets: env.CAPACITY_WEBSOCKETS === PLAIN_SERVER_NAME ? 'ws' : env.CAPACITY_WEBSOCKETS,
    /** Whether the server uses `ws` without Socket.IO. Such a server has no adapter, no transports and no tunings. */
    plain: env.CAPACITY_WEBSOCKETS === PLAIN_SERVER_NAME,
    modules: env.CAPACITY_MODULES,
    drainMs: env.CAPACITY_DRAIN_MS,
    pingIntervalMs: env.CAPACITY_PING_INTERVAL_MS,
    pingTimeoutMs: env.CAPACITY_PING_TIMEOUT_MS,
    recoverySeconds: env.CAPACITY_RECOVERY_SECONDS,
    transports: env.CAPACITY_TRANSPORTS,
    /** Configured tunings. `tuningsInForce` removes tunings that the WebSocket server does not support. */
    tunings: Object.fromEntries(
      tuningEntries().map(([name, { variable }]) => [name, tunings.data[variable]]),
    ) as Tunings,
    logLevel: env.CAPACITY_LOG_LEVEL,
  };
}

/** Returns errors for settings that require Socket.IO. A plain server does not have it. */
function unsupportedByPlain(given: Record<string, string | undefined>, recoverySeconds = 0): string[] {
  const { CAPACITY_WEBSOCKETS, CAPACITY_ADAPTER = 'in-memory' } = given;
  if (CAPACITY_WEBSOCKETS !== PLAIN_SERVER_NAME) return [];
  return [
    ...(CAPACITY_ADAPTER === 'in-memory'
      ? []
      : [`CAPACITY_ADAPTER=${CAPACITY_ADAPTER}: ${PLAIN_SERVER_NAME} has none`]),
    ...(recoverySeconds === 0
      ? []
      : [`CAPACITY_RECOVERY_SECONDS=${recoverySeconds}: ${PLAIN_SERVER_NAME} restores no sessions`]),
  ];
}

/**
 * Returns the adapter. The default is Redis if `REDIS_URL` is set, otherwise in-memory. A plain server always uses
 * in-memory.
 */
function chosenAdapter(given: Record<string, string | undefined>): AdapterName {
  if (given.CAPACITY_WEBSOCKETS === PLAIN_SERVER_NAME) return 'in-memory';
  const { data } = workerEnvironmentSchema.shape.CAPACITY_ADAPTER.safeParse(given.CAPACITY_ADAPTER);
  return data ?? (given.REDIS_URL === undefined ? 'in-memory' : 'redis');
}

/**
 * Describes each problem: variable, value unless it is secret, and error.
 * @param ifMissing explains why an unset variable is required
 */
function describe(error: z.ZodError | undefined, given: Record<string, string | undefined>, ifMissing = ''): string[] {
  return (error?.issues ?? []).map((issue) => {
    const variable = String(issue.path[0]);
    const value = given[variable];
    if (value === undefined) return `${variable} is not set${ifMissing}`;
    // A URL can contain a password, so it counts as secret.
    const secret = isSecretName(variable) || /_URL$/.test(variable);
    return `${variable}${secret ? '' : `=${value}`}: ${issue.message}`;
  });
}
