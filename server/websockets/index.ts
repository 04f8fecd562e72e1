/**
 * WebSocket servers under Socket.IO that `CAPACITY_WEBSOCKETS` can choose. A new server needs its own file and an entry
 * here.
 */

import { createServer } from 'node:http';
import { Server, type ServerOptions } from 'socket.io';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { bundledWsVersion } from '../control/versions.ts';
import { listenOnPort } from '../http-listener.ts';
import { importOptional } from '../optional-packages.ts';
import type { AttachedServer, AttachServer } from './attach.ts';
import { attachToUws } from './uwebsockets.ts';

/** Socket.IO options. Engine.IO's `wsEngine` can be any server with the interface of `ws`. */
type Options = Partial<Omit<ServerOptions, 'wsEngine'>> & { wsEngine?: unknown };

/**
 * Attaches Socket.IO to Node's HTTP server, which serves polling.
 * @param options include `wsEngine` unless it is the bundled `ws`
 */
function attachToHttp(options: Options, nameAndVersion: string): AttachedServer {
  const http = createServer((_request, response) => response.writeHead(404).end('This is a Socket.IO server.\n'));
  const io = new Server(http, options as Partial<ServerOptions>);
  let connections: EngineClient[] = [];
  return {
    io,
    nameAndVersion,
    listen: (port, host) => listenOnPort(http, port, host, 'Socket.IO port'),
    close: onlyOnce(() => {
      // Keeps the connections for `cut()`, because Engine.IO clears its list of clients when it closes.
      connections = Object.values((io.engine as unknown as { clients: Record<string, EngineClient> }).clients);
      http.close();
      return io.close();
    }),
    cut() {
      for (const { transport } of connections) transport.socket?.terminate();
      http.closeAllConnections();
    },
  };
}

/** Private members of an Engine.IO client. The WebSocket is missing on polling. */
interface EngineClient {
  transport: { socket?: { terminate(): void } };
}

export const WEBSOCKETS = {
  /** The `ws` that Engine.IO depends on. */
  ws: async (options) => attachToHttp(options, bundledWsVersion()),
  /** Replacement of `ws` behind Node's HTTP server. */
  eiows: async (options, modules) => {
    const { module, version } = await importOptional<{ Server: unknown }>('eiows@11.1.1', modules);
    return attachToHttp({ ...options, wsEngine: module.Server }, `eiows ${version}`);
  },
  'uWebSockets.js': attachToUws,
} satisfies Record<string, AttachServer>;

export type WebSocketsName = keyof typeof WEBSOCKETS;

/** Plain server on `ws`, without Socket.IO (`plain/plain-app.ts`). */
export const PLAIN_SERVER_NAME = 'plain-ws';
