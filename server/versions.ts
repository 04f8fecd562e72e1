/** Which software an instrumented server runs on; it may be anybody's, so nothing here is taken for granted. */
import { createRequire } from 'node:module';
import { Server } from 'socket.io';
import type { WorkerStats } from '../protocol/events.ts';
import type { AnyServer } from './types.ts';

const requireHere = createRequire(import.meta.url);
const requireInSocketIo = createRequire(requireHere.resolve('socket.io'));
const requireInEngineIo = createRequire(requireInSocketIo.resolve('engine.io'));

/** @param webSocketEngine its name and version, where they are known already */
export function versionsOf(io: AnyServer, webSocketEngine = webSocketEngineOf(io)): WorkerStats['versions'] {
  const adapter = io.of('/').adapter.constructor.name;
  return {
    node: process.versions.node,
    // Another copy of the package than ours has a version that we cannot ask for.
    socketIo: io instanceof Server ? requireInSocketIo('../package.json').version : 'unknown',
    adapter: adapter === 'Adapter' ? 'in-memory' : adapter,
    webSocketEngine,
  };
}

/** @returns name and version of the `ws` that Engine.IO brings along */
export function bundledWs(): string {
  return `ws ${requireInEngineIo('ws/package.json').version}`;
}

function webSocketEngineOf(io: AnyServer): string {
  if (io.engine.constructor.name === 'uServer') return 'uWebSockets.js';
  const { wsEngine } = (io.engine as unknown as { opts: { wsEngine: { name: string } } }).opts;
  return wsEngine === requireInEngineIo('ws').Server ? bundledWs() : wsEngine.name;
}
