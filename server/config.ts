/** What a worker is told by its environment. Read once, at the start; all problems are reported together. */
import { z } from 'zod';
import { CapacityError } from '../protocol/errors.ts';
import { portSchema, tokenSchema, workerSchema } from './schemas.ts';
import { type Tunings, entries as tuningEntries } from './tunings.ts';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const TRANSPORTS = ['websocket', 'polling'] as const;

/** `on` or `off`; also true/false, yes/no, 1/0. */
const onOff = z.stringbool({ error: 'must be on or off' });
const milliseconds = z.coerce.number().int().positive();
const transports = z
  .string()
  .transform((list) => [...new Set(list.split(',').map((name) => name.trim()))])
  .pipe(z.array(z.enum(TRANSPORTS)).min(1));

/** Other variables of the environment are none of this process's business, hence no strictObject. */
export const environmentSchema = z.object({
  CAPACITY_WORKER: workerSchema.default('w0'),
  CAPACITY_HOST: z.string().default('127.0.0.1'),
  CAPACITY_PORT: portSchema.default(0),
  CAPACITY_CONTROL_HOST: z.string().default('127.0.0.1'),
  CAPACITY_CONTROL_PORT: portSchema.default(0),
  CAPACITY_TOKEN: tokenSchema,
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'must be redis://host:port or rediss://host:port' }).optional(),
  CAPACITY_REDIS_PREFIX: z.string().default('socket.io'),
  CAPACITY_DRAIN_MS: milliseconds.default(5000),
  CAPACITY_PING_INTERVAL_MS: milliseconds.default(25_000),
  CAPACITY_PING_TIMEOUT_MS: milliseconds.default(20_000),
  CAPACITY_TRANSPORTS: transports.default([...TRANSPORTS]),
  CAPACITY_LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
});

const tuningsSchema = z.object(
  Object.fromEntries(tuningEntries().map(([, { variable, byDefault }]) => [variable, onOff.default(byDefault)])),
);

export interface ServerConfig {
  worker: string;
  host: string;
  /** 0 asks the system for a free one; likewise `controlPort`. */
  port: number;
  controlHost: string;
  controlPort: number;
  token: string;
  /** Undefined: the in-memory adapter. */
  redisUrl: string | undefined;
  redisPrefix: string;
  /** How long a shutdown waits for connections to close by themselves. */
  drainMs: number;
  pingIntervalMs: number;
  pingTimeoutMs: number;
  transports: (typeof TRANSPORTS)[number][];
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
  if (!settings.success || !tunings.success) {
    const issues = [...(settings.error?.issues ?? []), ...(tunings.error?.issues ?? [])];
    throw new CapacityError('CONFIG_INVALID', describe(issues, given), 'set these environment variables right');
  }
  const env = settings.data;
  return {
    worker: env.CAPACITY_WORKER,
    host: env.CAPACITY_HOST,
    port: env.CAPACITY_PORT,
    controlHost: env.CAPACITY_CONTROL_HOST,
    controlPort: env.CAPACITY_CONTROL_PORT,
    token: env.CAPACITY_TOKEN,
    redisUrl: env.REDIS_URL,
    redisPrefix: env.CAPACITY_REDIS_PREFIX,
    drainMs: env.CAPACITY_DRAIN_MS,
    pingIntervalMs: env.CAPACITY_PING_INTERVAL_MS,
    pingTimeoutMs: env.CAPACITY_PING_TIMEOUT_MS,
    transports: env.CAPACITY_TRANSPORTS,
    tunings: Object.fromEntries(
      tuningEntries().map(([name, { variable }]) => [name, tunings.data[variable]]),
    ) as Tunings,
    logLevel: env.CAPACITY_LOG_LEVEL,
  };
}

/** One line for each variable: its name, what is wrong and, except for secrets, what it says. */
function describe(issues: z.core.$ZodIssue[], given: Record<string, string | undefined>): string {
  const lines = issues.map((issue) => {
    const variable = String(issue.path[0]);
    const value = given[variable];
    if (value === undefined) return `${variable} is not set`;
    const secret = variable === 'CAPACITY_TOKEN' || variable === 'REDIS_URL';
    return `${variable}${secret ? '' : `=${value}`}: ${issue.message}`;
  });
  return `the server's environment is not right\n${lines.map((line) => `  ${line}`).join('\n')}`;
}
