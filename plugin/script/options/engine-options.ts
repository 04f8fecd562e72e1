/**
 * Options of the engine, from `config.engines.socketio-capacity` and from `config.socketio`, which existing scripts
 * use.
 */
import { z } from 'zod';
import { formatPath, type InputProblem, type ProblemPath, parseWithSchema } from '../../../protocol/base/problems.ts';
import { mergeHeaders, splitUserInfo } from '../../../protocol/wire/basic-auth.ts';
import {
  type Backoff,
  type ClientKind,
  type ConnectionOptions,
  MAX_PAYLOAD_BYTES,
  TRANSPORTS,
  type Transport,
} from '../../../protocol/wire/connection.ts';
import { timeoutSchema } from '../duration.ts';
import { ENGINE_NAME, type Script } from '../script.ts';
import { checkConfig } from './check-config.ts';
import { connectionShape, enginePath, parseQueryOrHeaders } from './connect-options.ts';
import { findParser, readTlsFiles, scriptFolder, tlsOptionsSchema as sharedTlsSchema } from './files.ts';
import { addHints } from './hints.ts';

export interface EngineOptions {
  /** Name of the variable with the rooms of a virtual user; undefined if the counted event does not go to rooms. */
  roomsVariable?: string;
  client: ClientKind;
  /** Connection options that are the same for all connections of the run. */
  connection: ConnectionOptions;
  /** Namespace in the path of the target; '' without one. */
  baseNamespace: string;
  /** Time-out of acknowledgements, responses and `waitFor` steps. */
  timeoutMs: number;
  retry: Backoff | undefined;
  reconnection: Backoff | undefined;
  localAddresses: string[];
  disconnectRatePerSec: number;
  thinkJitter: number | string | undefined;
}

const tlsSchema = sharedTlsSchema.extend({
  resume: z.boolean().optional().describe('each connection resumes the last TLS session; `light` only'),
});

const backoffSchema = z.strictObject({
  attempts: z.int().positive().default(10).describe('attempts after the first'),
  delay: timeoutSchema.default(1000).describe('delay before the first repeated attempt; doubles each time'),
  maxDelay: timeoutSchema.default(5000).describe('the longest delay'),
  jitter: z.number().min(0).max(1).default(0.5).describe('share of the delay that is random'),
});

export const engineOptionsSchema = z.strictObject({
  ...connectionShape,
  client: z
    .enum(['light', 'official'])
    .default('light')
    .describe('`official`: `socket.io-client`, which costs several times as much'),
  parser: z.string().optional().describe('`socket.io-msgpack-parser` (or `msgpack`), another module, or a file'),
  acknowledge: z
    .union([z.literal(false), z.array(z.unknown())], {
      error: 'expected false, or a list: the arguments of the answer',
    })
    .default([])
    .describe('arguments with which events of the server are acknowledged; `false`: no acknowledgement'),
  compression: z.boolean().default(false).describe('offers permessage-deflate, and compresses from 1,024 bytes on'),
  tls: tlsSchema.optional().describe('for `https` and `wss`; `config.tls` is also read'),
  timeout: timeoutSchema
    .optional()
    .describe('time-out of acknowledgements, responses and `waitFor`; default: `config.timeout`, or 10 s'),
  connectTimeout: timeoutSchema
    .default(20_000)
    .describe('time-out of the whole connection setup, from TCP to the namespace'),
  maxPayload: z
    .int()
    .positive()
    .default(MAX_PAYLOAD_BYTES)
    .describe('bytes; a larger message from the server ends its connection'),
  reconnection: z
    .union([z.boolean(), backoffSchema])
    .default(false)
    .describe('reconnects dropped connections, and sends `join_room` again unless the session was restored'),
  retry: z.union([z.boolean(), backoffSchema]).default(false).describe('repeats a failed first attempt to connect'),
  localAddresses: z
    .array(z.union([z.ipv4(), z.ipv6()], { error: 'expected an IP address' }))
    .default([])
    .describe('source addresses, used in turn; on loopback, added automatically above 10,000 connections'),
  disconnectRate: z.number().positive().default(1000).describe('disconnects per second when held connections close'),
});

/** Engine options from environment variables. They take precedence over the script. */
interface Overrides {
  target?: string | undefined;
  /** Whether to accept the self-signed certificate of a deployment that this tool starts. */
  selfSigned?: boolean;
  transports?: readonly Transport[] | undefined;
  compression?: boolean | undefined;
}

const OPTIONS_PATH: ProblemPath = ['config', 'engines', ENGINE_NAME];

/**
 * Reads the options of the engine. `config.engines.socketio-capacity` takes precedence over `config.socketio`.
 * @param problems list to which every mistake is added, with its path
 * @returns the options; undefined if there are mistakes
 */
export function parseEngineOptions(
  script: Script,
  problems: InputProblem[],
  overrides: Overrides = {},
): EngineOptions | undefined {
  const { config } = script;
  const found: InputProblem[] = [];
  const folder = scriptFolder(script);
  const sources: [ProblemPath, unknown][] = [
    [['config', 'socketio'], config.socketio ?? {}],
    [OPTIONS_PATH, config.engines?.[ENGINE_NAME] ?? {}],
  ];
  const layers = sources.map(
    ([path, value]) => checkConfig(engineOptionsSchema.partial(), value, path, found) && value,
  );
  const timeout = parseWithSchema(timeoutSchema.optional(), config.timeout, ['config', 'timeout'], found);
  const sharedTls = parseWithSchema(tlsSchema, config.tls ?? {}, ['config', 'tls'], found) ?? {};
  const target = parseTarget(overrides.target ?? config.target);
  if (!target) found.push({ path: 'config.target', message: 'expected a URL such as http://localhost:3000' });
  // The options from each source have been validated, so the merged options are valid.
  const options = found.length === 0 ? engineOptionsSchema.parse(Object.assign({}, ...layers)) : undefined;
  if (options?.client === 'official' && { ...sharedTls, ...options.tls }.resume) {
    const message = 'only the light client resumes TLS sessions: write client: light';
    found.push({ path: formatPath([...OPTIONS_PATH, 'tls', 'resume']), message });
  }
  const tls = {
    ...readTlsFiles(sharedTls, folder, ['config', 'tls'], found),
    ...readTlsFiles(options?.tls ?? {}, folder, [...OPTIONS_PATH, 'tls'], found),
    ...(overrides.selfSigned && { rejectUnauthorized: false }),
  };
  const parser = options?.parser && findParser(options.parser, folder, [...OPTIONS_PATH, 'parser'], found);
  problems.push(...addHints(found));
  if (found.length > 0 || !options || !target) return undefined;
  return {
    client: options.client,
    connection: {
      url: target.origin === 'null' ? `${target.protocol}//${target.host}` : target.origin,
      path: enginePath(options.path ?? 'socket.io', options.addTrailingSlash),
      transports: overrides.transports ?? options.transports ?? TRANSPORTS.websocket,
      query: { ...Object.fromEntries(target.searchParams), ...parseQueryOrHeaders(options.query) },
      headers: mergeHeaders(
        splitUserInfo(target).headers,
        parseQueryOrHeaders(options.extraHeaders),
        parseQueryOrHeaders(options.headers),
      ),
      auth: typeof options.auth === 'object' ? options.auth : undefined,
      tls,
      compression: overrides.compression ?? options.compression,
      parser,
      acknowledge: options.acknowledge === false ? undefined : options.acknowledge,
      connectTimeoutMs: options.connectTimeout,
      maxPayloadBytes: options.maxPayload,
      localAddress: options.localAddresses[0],
    },
    baseNamespace: target.pathname.replace(/\/$/, ''),
    timeoutMs: options.timeout ?? timeout ?? 10_000,
    retry: backoff(options.retry),
    reconnection: backoff(options.reconnection),
    localAddresses: options.localAddresses,
    disconnectRatePerSec: options.disconnectRate,
    thinkJitter: config.defaults?.think?.jitter,
  };
}

/**
 * Returns the script with only those connection options that this engine supports. Used if a third-party engine drives
 * the load, because that engine has its own options in the same keys.
 */
export function withKnownOptions(script: Script): Script {
  const { target, tls, socketio, engines } = script.config;
  const schemas = Object.entries(connectionShape).map(([key, schema]) => [key, (schema as z.ZodType).catch(undefined)]);
  const own = engines?.[ENGINE_NAME] as object | undefined;
  const read = z.object(Object.fromEntries(schemas)).parse({ ...(socketio as object | undefined), ...own });
  const valid = Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
  const config = { target, ...(tlsSchema.safeParse(tls).success && { tls }), engines: { [ENGINE_NAME]: valid } };
  return { ...script, config };
}

function backoff(option: boolean | z.infer<typeof backoffSchema>): Backoff | undefined {
  if (option === false) return undefined;
  const { attempts, delay, maxDelay, jitter } = option === true ? backoffSchema.parse({}) : option;
  return { attempts, delayMs: delay, maxDelayMs: maxDelay, jitter };
}

function parseTarget(target: unknown): URL | undefined {
  const url = URL.canParse(String(target)) ? new URL(String(target)) : undefined;
  return url && /^(https?|wss?):$/.test(url.protocol) ? url : undefined;
}
