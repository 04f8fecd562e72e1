/** The engine's options: `config.engines.socketio-capacity`, and the older places that flows in the wild use. */
import { z } from 'zod';
import { durationSchema } from '../engine/duration.ts';
import { ENGINE_NAME, type Script } from '../engine/types.ts';
import type { ClientOptions, TlsOptions } from '../fleet/client.ts';
import type { ClientKind } from '../fleet/messages.ts';
import { formatPath, type Problem, problemsOf } from './problems.ts';

export interface Backoff {
  attempts: number;
  delayMs: number;
  maxDelayMs: number;
  /** Share of the delay, 0 to 1, that is random. */
  jitter: number;
}

export interface EngineConfig {
  client: ClientKind;
  /** For what every connection has in common. */
  connection: ClientOptions;
  /** Namespace that a path in the target stands for; '' without one. */
  baseNamespace: string;
  /** For acknowledgements, responses and `waitFor`. */
  timeoutMs: number;
  retry: Backoff | undefined;
  reconnection: Backoff | undefined;
  localAddresses: string[];
  leaveRatePerSec: number;
  thinkJitter: number | string | undefined;
}

const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const texts = z.record(z.string(), scalar);

/** Options that a `connect` step may give too. */
export const connectionShape = {
  auth: z.record(z.string(), z.unknown()).optional(),
  query: texts.optional(),
  extraHeaders: texts.optional(),
  headers: texts.optional(),
  path: z.string().optional(),
  transports: z
    .array(z.enum(['websocket', 'polling']))
    .min(1)
    .optional(),
};

const tlsSchema = z.strictObject({
  rejectUnauthorized: z.boolean().optional(),
  servername: z.string().optional(),
  ca: z.string().optional(),
  cert: z.string().optional(),
  key: z.string().optional(),
});

const backoffSchema = z.strictObject({
  attempts: z.int().positive().default(10),
  delay: durationSchema.default(1000),
  maxDelay: durationSchema.default(5000),
  jitter: z.number().min(0).max(1).default(0.5),
});

export const optionsSchema = z.strictObject({
  ...connectionShape,
  client: z.enum(['light', 'official']).default('light'),
  tls: tlsSchema.optional(),
  timeout: durationSchema.optional(),
  connectTimeout: durationSchema.default(20_000),
  reconnection: z.union([z.boolean(), backoffSchema]).default(false),
  retry: z.union([z.boolean(), backoffSchema]).default(false),
  localAddresses: z.array(z.union([z.ipv4(), z.ipv6()], { error: 'expected an IP address' })).default([]),
  leaveRate: z.number().positive().default(1000),
});

const OPTION_NAMES = [optionsSchema, backoffSchema, tlsSchema].flatMap((schema) => Object.keys(schema.shape));

/** Options of socket.io-client that mean something else here, or nothing. */
const ELSEWHERE: Record<string, string> = {
  reconnectionAttempts: 'write reconnection: {attempts: …}',
  reconnectionDelay: 'write reconnection: {delay: <seconds>}',
  reconnectionDelayMax: 'write reconnection: {maxDelay: <seconds>}',
  randomizationFactor: 'write reconnection: {jitter: …}',
  rejectUnauthorized: 'write tls: {rejectUnauthorized: …}',
  ackTimeout: 'write timeout: <seconds>',
  parser: 'custom parsers are not supported',
  forceNew: 'leave it out: every virtual user has a connection of its own',
};

/**
 * Later places win: `config.socketio`, `config.socketio-capacity`, `config.engines.socketio-capacity`.
 * @returns the options with units in their names, or every problem with its place in the YAML
 */
export function parseConfig(script: Script): { config: EngineConfig } | { problems: Problem[] } {
  const { config } = script;
  const places: [string[], unknown][] = [
    [['config', 'socketio'], config.socketio],
    [['config', ENGINE_NAME], config[ENGINE_NAME]],
    [['config', 'engines', ENGINE_NAME], config.engines?.[ENGINE_NAME]],
  ];
  const problems: Problem[] = [];
  let merged: Record<string, unknown> = {};
  for (const [path, value] of places) {
    if (value === undefined || value === null) continue;
    const parsed = optionsSchema.partial().safeParse(value);
    if (!parsed.success) problems.push(...problemsOf(parsed.error, path, OPTION_NAMES).map(pointElsewhere));
    else merged = { ...merged, ...value };
  }
  const tls = tlsSchema.safeParse(config.tls ?? {});
  if (!tls.success) problems.push(...problemsOf(tls.error, ['config', 'tls'], Object.keys(tlsSchema.shape)));
  const timeout = durationSchema.optional().safeParse(config.timeout);
  if (!timeout.success) problems.push(...problemsOf(timeout.error, ['config', 'timeout'], []));
  const target = parseTarget(config.target);
  if (!target) problems.push({ path: 'config.target', message: 'expected a URL such as http://localhost:3000' });
  const options = optionsSchema.safeParse(merged);
  if (options.success) {
    const { client, transports } = options.data;
    if (client === 'light' && transports?.some((transport) => transport !== 'websocket')) {
      problems.push({
        path: formatPath(['config', 'engines', ENGINE_NAME, 'transports']),
        message: 'the light client speaks WebSocket only: write client: official, or transports: [websocket]',
      });
    }
  }
  if (problems.length > 0 || !options.success || !tls.data || !target) return { problems };
  return { config: resolve(options.data, tls.data, target, timeout.data, config.defaults?.think?.jitter) };
}

function resolve(
  options: z.infer<typeof optionsSchema>,
  tls: TlsOptions,
  target: URL,
  timeoutMs: number | undefined,
  thinkJitter: number | string | undefined,
): EngineConfig {
  return {
    client: options.client,
    connection: {
      url: target.origin === 'null' ? `${target.protocol}//${target.host}` : target.origin,
      path: options.path ?? '/socket.io/',
      transports: options.transports ?? ['websocket'],
      query: options.query ?? {},
      headers: { ...options.extraHeaders, ...options.headers },
      auth: options.auth,
      tls: { ...tls, ...options.tls },
      connectTimeoutMs: options.connectTimeout,
      localAddress: undefined,
    },
    baseNamespace: target.pathname.replace(/\/$/, ''),
    timeoutMs: options.timeout ?? timeoutMs ?? 10_000,
    retry: backoff(options.retry),
    reconnection: backoff(options.reconnection),
    localAddresses: options.localAddresses,
    leaveRatePerSec: options.leaveRate,
    thinkJitter,
  };
}

function backoff(option: boolean | z.infer<typeof backoffSchema>): Backoff | undefined {
  if (option === false) return undefined;
  const { attempts, delay, maxDelay, jitter } = option === true ? backoffSchema.parse({}) : option;
  return { attempts, delayMs: delay, maxDelayMs: maxDelay, jitter };
}

function parseTarget(target: unknown): URL | undefined {
  if (typeof target !== 'string' || !URL.canParse(target)) return undefined;
  const url = new URL(target);
  return /^(https?|wss?):$/.test(url.protocol) ? url : undefined;
}

function pointElsewhere(problem: Problem): Problem {
  const hint = ELSEWHERE[problem.path.slice(problem.path.lastIndexOf('.') + 1)];
  const unknown = problem.message.startsWith('unknown option');
  return hint && unknown ? { ...problem, message: `unknown option: ${hint}` } : problem;
}
