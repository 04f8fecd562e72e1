/** The software that an instrumented server runs on. It can be anyone's, so nothing is taken for granted. */
import { createRequire } from 'node:module';
import { Server, type ServerOptions } from 'socket.io';
import type { WorkerStats } from '../../protocol/wire/events.ts';
import type { AnyServer } from '../any-server.ts';

const requireHere = createRequire(import.meta.url);
const requireInSocketIo = createRequire(requireHere.resolve('socket.io'));
const requireInEngineIo = createRequire(requireInSocketIo.resolve('engine.io'));

/** @param webSocketEngine, adapter their names and versions, if they are already known */
export function versionsOf(
  io: AnyServer,
  webSocketEngine = webSocketEngineOf(io),
  adapter = adapterOf(io),
): WorkerStats['versions'] {
  return {
    node: process.versions.node,
    // The version of another copy of the package cannot be looked up.
    socketIo: io instanceof Server ? requireInSocketIo('../package.json').version : 'unknown',
    adapter,
    webSocketEngine,
  };
}

/** @returns name and version of the `ws` that comes with Engine.IO */
export function bundledWs(): string {
  return `ws ${requireInEngineIo('ws/package.json').version}`;
}

/** The classes of the packages that come with Socket.IO, so that no second version of them is measured. */
export function bundled(): {
  WebSocketServer: typeof import('ws').WebSocketServer;
  Encoder: typeof import('socket.io-parser').Encoder;
  Decoder: typeof import('socket.io-parser').Decoder;
} {
  return { ...requireInEngineIo('ws'), ...requireInSocketIo('socket.io-parser') };
}

/** Socket.IO's own adapter as it was when this file was loaded: a server on µWebSockets.js replaces some of its methods. */
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
