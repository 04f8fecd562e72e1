/** The engine's options: `config.engines.socketio-capacity`, and the older places that existing scripts use. */
import { z } from 'zod';
import { check, formatPath, type Path, type Problem } from '../../../protocol/base/problems.ts';
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
import { ENGINE, type Script } from '../script.ts';
import { checkConfig } from './check-config.ts';
import { connectionShape, enginePath, valuesOf } from './connect-options.ts';
import { findParser, folderOf, readTlsFiles, tlsSchema as sharedTlsSchema } from './files.ts';
import { withHints } from './hints.ts';

export interface EngineOptions {
  /** Variable with the rooms of a virtual user, where an own event goes to rooms. */
  roomsVariable?: string;
  client: ClientKind;
  /** The same for all connections. */
  connection: ConnectionOptions;
  /** Namespace in the path of the target; '' without one. */
  baseNamespace: string;
  /** For acknowledgements, responses and `waitFor`. */
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
  delay: timeoutSchema.default(1000).describe('delay before the first attempt; doubles each time'),
  maxDelay: timeoutSchema.default(5000).describe('the longest delay'),
  jitter: z.number().min(0).max(1).default(0.5).describe('share of the delay that is random'),
});

export const optionsSchema = z.strictObject({
  ...connectionShape,
  client: z
    .enum(['light', 'official'])
    .default('light')
    .describe('our own client, a few KB per connection; or `socket.io-client`, several times more expensive'),
  parser: z
    .string()
    .optional()
    .describe('for servers with another parser: `socket.io-msgpack-parser` (or `msgpack`), another module, or a file'),
  acknowledge: z
    .union([z.literal(false), z.array(z.unknown())], {
      error: 'expected false, or a list: the arguments of the answer',
    })
    .default([])
    .describe('arguments of the acknowledgement that a server asks for; `false` gives none'),
  compression: z.boolean().default(false).describe('offers permessage-deflate, and compresses from 1,024 bytes on'),
  tls: tlsSchema.optional().describe('for `https` and `wss`; `config.tls` is also read'),
  timeout: timeoutSchema
    .optional()
    .describe('for acknowledgements, responses and `waitFor`; default: `config.timeout`, or 10 s'),
  connectTimeout: timeoutSchema.default(20_000).describe('for the whole connection setup, from TCP to the namespace'),
  maxPayload: z
    .int()
    .positive()
    .default(MAX_PAYLOAD_BYTES)
    .describe('bytes; a larger message from the server ends its connection'),
  reconnection: z
    .union([z.boolean(), backoffSchema])
    .default(false)
    .describe('brings dropped connections back; sends each `join_room` again, unless the server restored the session'),
  retry: z.union([z.boolean(), backoffSchema]).default(false).describe('tries a first connection that failed again'),
  localAddresses: z
    .array(z.union([z.ipv4(), z.ipv6()], { error: 'expected an IP address' }))
    .default([])
    .describe('source addresses, used in turn; on loopback, the engine adds others itself above 10,000 connections'),
  disconnectRate: z.number().positive().default(1000).describe('disconnects per second when held connections leave'),
});

/** What a run sets in place of the script's own, by environment variables. */
interface Given {
  target?: string | undefined;
  /** The stack of the run speaks TLS, with a certificate that nobody vouches for. */
  ownTls?: boolean;
  transports?: readonly Transport[] | undefined;
  compression?: boolean | undefined;
}

const OWN_PLACE: Path = ['config', 'engines', ENGINE];

/**
 * Merges two places, of which the later one wins: `config.socketio`, `config.engines.socketio-capacity`.
 * @param problems gets every mistake with its place in the YAML
 * @returns the options with units in their names; undefined if there are mistakes
 */
export function parseEngineOptions(script: Script, problems: Problem[], given: Given = {}): EngineOptions | undefined {
  const { config } = script;
  const found: Problem[] = [];
  const folder = folderOf(script);
  const places: [Path, unknown][] = [
    [['config', 'socketio'], config.socketio ?? {}],
    [OWN_PLACE, config.engines?.[ENGINE] ?? {}],
  ];
  const written = places.map(([path, value]) => checkConfig(optionsSchema.partial(), value, path, found) && value);
  const timeout = check(timeoutSchema.optional(), config.timeout, ['config', 'timeout'], found);
  const sharedTls = check(tlsSchema, config.tls ?? {}, ['config', 'tls'], found) ?? {};
  const target = parseTarget(given.target ?? config.target);
  if (!target) found.push({ path: 'config.target', message: 'expected a URL such as http://localhost:3000' });
  // Each of them is right, so all of them are.
  const options = found.length === 0 ? optionsSchema.parse(Object.assign({}, ...written)) : undefined;
  if (options?.client === 'official' && { ...sharedTls, ...options.tls }.resume) {
    const message = 'only the light client resumes TLS sessions: write client: light';
    found.push({ path: formatPath([...OWN_PLACE, 'tls', 'resume']), message });
  }
  const tls = {
    ...readTlsFiles(sharedTls, folder, ['config', 'tls'], found),
    ...readTlsFiles(options?.tls ?? {}, folder, [...OWN_PLACE, 'tls'], found),
    ...(given.ownTls && { rejectUnauthorized: false }),
  };
  const parser = options?.parser && findParser(options.parser, folder, [...OWN_PLACE, 'parser'], found);
  problems.push(...withHints(found));
  if (found.length > 0 || !options || !target) return undefined;
  return {
    client: options.client,
    connection: {
      url: target.origin === 'null' ? `${target.protocol}//${target.host}` : target.origin,
      path: enginePath(options.path ?? 'socket.io'),
      transports: given.transports ?? options.transports ?? TRANSPORTS.websocket,
      query: { ...Object.fromEntries(target.searchParams), ...valuesOf(options.query) },
      headers: mergeHeaders(splitUserInfo(target).headers, valuesOf(options.extraHeaders), valuesOf(options.headers)),
      auth: typeof options.auth === 'object' ? options.auth : undefined,
      tls,
      compression: given.compression ?? options.compression,
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
 * @returns the script with only the valid options of our engine, for a load that a third-party engine drives: its own
 *   options are in the same places, and are not ours to validate
 */
export function withKnownOptions(script: Script): Script {
  const { target, tls, socketio, engines } = script.config;
  const schemas = Object.entries(connectionShape).map(([key, schema]) => [key, (schema as z.ZodType).catch(undefined)]);
  const own = engines?.[ENGINE] as object | undefined;
  const read = z.object(Object.fromEntries(schemas)).parse({ ...(socketio as object | undefined), ...own });
  const known = Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
  const config = { target, ...(tlsSchema.safeParse(tls).success && { tls }), engines: { [ENGINE]: known } };
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
