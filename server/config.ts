/** A worker's configuration, from its environment. Read once, at the start; all problems are reported together. */
import { z } from 'zod';
import { CapacityError } from '../protocol/errors.ts';
import { ADAPTERS, type AdapterName } from './adapters/index.ts';
import { portSchema, tokenSchema, workerSchema } from './schemas.ts';
import { type Tunings, entries as tuningEntries } from './tunings.ts';
import { WEBSOCKETS, type WebSocketsName } from './websockets/index.ts';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const TRANSPORTS = ['websocket', 'polling'] as const;

/** `on` or `off`; also true/false, yes/no, 1/0. */
const onOff = z.stringbool({ error: 'must be on or off' });
const milliseconds = z.coerce.number().int().positive();
const transports = z
  .string()
  .transform((list) => [...new Set(list.split(',').map((name) => name.trim()))])
  .pipe(z.array(z.enum(TRANSPORTS)).min(1));

/**
 * The variables of every worker; adapters define further ones. Not a strictObject, as the environment has many others.
 */
export const environmentSchema = z.object({
  CAPACITY_WORKER: workerSchema.default('w0'),
  CAPACITY_HOST: z.string().default('127.0.0.1'),
  CAPACITY_PORT: portSchema.default(0),
  CAPACITY_CONTROL_HOST: z.string().default('127.0.0.1'),
  CAPACITY_CONTROL_PORT: portSchema.default(0),
  CAPACITY_TOKEN: tokenSchema,
  CAPACITY_ADAPTER: z.enum(Object.keys(ADAPTERS) as AdapterName[]).optional(),
  CAPACITY_WEBSOCKETS: z.enum(Object.keys(WEBSOCKETS) as WebSocketsName[]).default('ws'),
  CAPACITY_DRAIN_MS: milliseconds.default(5000),
  CAPACITY_PING_INTERVAL_MS: milliseconds.default(25_000),
  CAPACITY_PING_TIMEOUT_MS: milliseconds.default(20_000),
  CAPACITY_RECOVERY_SECONDS: z.coerce.number().int().nonnegative().default(0),
  CAPACITY_TRANSPORTS: transports.default([...TRANSPORTS]),
  CAPACITY_LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
});

const tuningsSchema = z.object(
  Object.fromEntries(tuningEntries().map(([, { variable, byDefault }]) => [variable, onOff.default(byDefault)])),
);

/** Every variable that some worker reads, with what it accepts. */
export const VARIABLES: Record<string, z.ZodType> = Object.assign(
  {},
  ...Object.values(ADAPTERS).map(({ environment }) => environment.shape),
  tuningsSchema.shape,
  environmentSchema.shape,
);

export interface ServerConfig {
  worker: string;
  host: string;
  /** 0 lets the system choose a free port; the same holds for `controlPort`. */
  port: number;
  controlHost: string;
  controlPort: number;
  token: string;
  /** `settings`: what the adapter's own `environment` parsed. */
  adapter: { name: AdapterName; settings: Record<string, unknown> };
  websockets: WebSocketsName;
  /** How long a shutdown waits for connections to close by themselves. */
  drainMs: number;
  pingIntervalMs: number;
  pingTimeoutMs: number;
  /** How long the session of a connection that has dropped is kept; 0 keeps none. */
  recoverySeconds: number;
  transports: (typeof TRANSPORTS)[number][];
  /** As chosen; `tuningsInForce` has those that also apply. */
  tunings: Tunings;
  logLevel: (typeof LOG_LEVELS)[number];
}

/**
 * @param environment normally `process.env`; an empty value counts as unset
 * @throws CapacityError CONFIG_INVALID that lists every variable in error
 */
export function parseConfig(environment: Record<string, string | undefined>): ServerConfig {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const settings = environmentSchema.safeParse(given);
  const tunings = tuningsSchema.safeParse(given);
  const adapterName = chosenAdapter(given);
  const adapter = ADAPTERS[adapterName].environment.safeParse(given);
  const unrecoverable = settings.data?.CAPACITY_RECOVERY_SECONDS && !ADAPTERS[adapterName].recovers;
  if (!settings.success || !tunings.success || !adapter.success || unrecoverable) {
    const problems = [
      ...(unrecoverable ? [`CAPACITY_RECOVERY_SECONDS: the adapter ${adapterName} cannot restore sessions`] : []),
      ...describe(settings.error, given),
      ...describe(tunings.error, given),
      ...describe(adapter.error, given, `, but CAPACITY_ADAPTER=${adapterName} needs it`),
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
    websockets: env.CAPACITY_WEBSOCKETS,
    drainMs: env.CAPACITY_DRAIN_MS,
    pingIntervalMs: env.CAPACITY_PING_INTERVAL_MS,
    pingTimeoutMs: env.CAPACITY_PING_TIMEOUT_MS,
    recoverySeconds: env.CAPACITY_RECOVERY_SECONDS,
    transports: env.CAPACITY_TRANSPORTS,
    tunings: Object.fromEntries(
      tuningEntries().map(([name, { variable }]) => [name, tunings.data[variable]]),
    ) as Tunings,
    logLevel: env.CAPACITY_LOG_LEVEL,
  };
}

/** Without a valid choice: Redis if its URL is set, otherwise in-memory. */
function chosenAdapter(given: Record<string, string | undefined>): AdapterName {
  const { data } = environmentSchema.shape.CAPACITY_ADAPTER.safeParse(given.CAPACITY_ADAPTER);
  return data ?? (given.REDIS_URL === undefined ? 'in-memory' : 'redis');
}

/**
 * @returns for each problem the variable, what is wrong and, except for secrets, its value; `ifMissing` adds a reason
 */
function describe(error: z.ZodError | undefined, given: Record<string, string | undefined>, ifMissing = ''): string[] {
  return (error?.issues ?? []).map((issue) => {
    const variable = String(issue.path[0]);
    const value = given[variable];
    if (value === undefined) return `${variable} is not set${ifMissing}`;
    // A URL can contain a password.
    const secret = /_(TOKEN|URL)$/.test(variable);
    return `${variable}${secret ? '' : `=${value}`}: ${issue.message}`;
  });
}
