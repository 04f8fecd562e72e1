/** Versions of the software that an instrumented server runs on. Works for any server and version of Socket.IO. */
import { createRequire } from 'node:module';
import { Server, type ServerOptions } from 'socket.io';
import type { WorkerStats } from '../../protocol/wire/events.ts';
import type { AnyServer } from '../any-server.ts';

const requireHere = createRequire(import.meta.url);
const requireInSocketIo = createRequire(requireHere.resolve('socket.io'));
const requireInEngineIo = createRequire(requireInSocketIo.resolve('engine.io'));

/** @param webSocketEngine, adapter names and versions, if already known */
export function versionsOf(
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

/** Returns name and version of Engine.IO's `ws`. */
export function bundledWs(): string {
  return `ws ${requireInEngineIo('ws/package.json').version}`;
}

/** Returns classes from Socket.IO's own dependencies, so that no other version of them is measured. */
export function bundled(): {
  WebSocketServer: typeof import('ws').WebSocketServer;
  Encoder: typeof import('socket.io-parser').Encoder;
  Decoder: typeof import('socket.io-parser').Decoder;
} {
  return { ...requireInEngineIo('ws'), ...requireInSocketIo('socket.io-parser') };
}

/** Socket.IO's in-memory adapter with its original methods: a server on µWebSockets.js later replaces some of them. */
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
  return wsEngine === requireInEngineIo('ws').Server ? bundledWs() : wsEngine.name;
}
