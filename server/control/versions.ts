/**
 * Describes an instrumented server: versions, and options that affect memory and latency. Works with any version of
 * Socket.IO.
 */
import { createRequire } from 'node:module';
import { Server, type ServerOptions } from 'socket.io';
import type { ServerDescription } from '../../protocol/result/server-schema.ts';
import type { WorkerStats } from '../../protocol/wire/events.ts';
import type { AnyServer } from '../any-server.ts';

const requireHere = createRequire(import.meta.url);
const requireInSocketIo = createRequire(requireHere.resolve('socket.io'));
const requireInEngineIo = createRequire(requireInSocketIo.resolve('engine.io'));

/**
 * @param webSocketEngine name and version, if known
 * @param adapter name and version, if known
 */
export function socketIoVersions(
  io: AnyServer,
  webSocketEngine = webSocketEngineOf(io),
  adapter = adapterOf(io),
): WorkerStats['versions'] {
  return {
    node: process.versions.node,
    // The version is known only if the server uses the same copy of the package.
    socketIo: io instanceof Server ? requireInSocketIo('../package.json').version : 'unknown',
    adapter,
    webSocketEngine,
  };
}

/** Returns the name and version of the `ws` that Engine.IO uses. */
export function bundledWsVersion(): string {
  return `ws ${requireInEngineIo('ws/package.json').version}`;
}

/** Returns classes from Socket.IO's own dependencies, so that no other version of them is measured. */
export function socketIoDependencies(): {
  WebSocketServer: typeof import('ws').WebSocketServer;
  Encoder: typeof import('socket.io-parser').Encoder;
  Decoder: typeof import('socket.io-parser').Decoder;
} {
  return { ...requireInEngineIo('ws'), ...requireInSocketIo('socket.io-parser') };
}

/**
 * In-memory adapter of Socket.IO with its original methods. A server on µWebSockets.js replaces some of these methods
 * later.
 */
export const InMemoryAdapter: ServerOptions['adapter'] = unpatchedAdapter();

function unpatchedAdapter() {
  const { Adapter } = requireInSocketIo('socket.io-adapter') as typeof import('socket.io-adapter');
  const { addAll, del, broadcast } = Adapter.prototype;
  class Unpatched extends Adapter {}
  Object.assign(Unpatched.prototype, { addAll, del, broadcast });
  return Unpatched;
}

function adapterOf(io: AnyServer): string {
  const { name } = io.of('/').adapter.constructor;
  return name === 'Adapter' ? 'in-memory' : name;
}

function webSocketEngineOf(io: AnyServer): string {
  if (io.engine.constructor.name === 'uServer') return 'uWebSockets.js';
  const { wsEngine } = (io.engine as unknown as { opts: { wsEngine: { name: string } } }).opts;
  return wsEngine === requireInEngineIo('ws').Server ? bundledWsVersion() : wsEngine.name;
}

/** Part of the description that only the bundled server reports. */
export type TuningDescription = Pick<ServerDescription, 'kind' | 'tunings'>;

const OWN: TuningDescription = { kind: 'own', tunings: {} };

/** Private members of a Socket.IO server. Other versions may lack them. */
interface Options {
  engine: { opts?: Record<string, unknown> };
  opts?: Record<string, unknown>;
}

const ENGINE_OPTIONS = ['transports', 'allowUpgrades', 'pingInterval', 'pingTimeout', 'maxHttpBufferSize'];

export function describeServer(io: AnyServer, tuned = OWN): ServerDescription {
  const { engine, opts = {} } = io as unknown as Options;
  const options = {
    ...Object.fromEntries(ENGINE_OPTIONS.map((name) => [name, text(engine.opts?.[name])])),
    // Compression is off unless the option is set.
    perMessageDeflate: text(engine.opts?.perMessageDeflate ?? false),
    httpCompression: text(engine.opts?.httpCompression ?? false),
    connectionStateRecovery: text(opts.connectionStateRecovery ?? false),
    parser: opts.parser === undefined ? 'default' : 'custom',
    nodeFlags: nodeFlags(process.execArgv, process.env.NODE_OPTIONS).join(' ') || 'none',
  };
  return { ...tuned, options };
}

/**
 * Returns the flags of Node. Only numeric values are included, because other values can be paths or secrets.
 * @param options value of NODE_OPTIONS
 */
export function nodeFlags(args: string[], options = ''): string[] {
  const flags = [...args, ...options.split(/\s+/)].filter((flag) => flag.startsWith('-'));
  return flags.map((flag) => (/^[^=]+=\d+$/.test(flag) ? flag : (flag.split('=')[0] as string)));
}

function text(value: unknown): string {
  if (Array.isArray(value)) return value.map(text).join(', ');
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'not set');
}
