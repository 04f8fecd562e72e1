/** Socket.IO on Node's HTTP server, which serves polling and passes upgraded connections to Engine.IO's `wsEngine`. */
import { createServer } from 'node:http';
import { Server, type ServerOptions } from 'socket.io';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { listen } from '../listen.ts';
import type { AttachedServer } from './attach.ts';

/** Engine.IO's `wsEngine` can be any server with the interface of `ws`. */
type Options = Partial<Omit<ServerOptions, 'wsEngine'>> & { wsEngine?: unknown };

/** @param options include `wsEngine` unless it is the bundled `ws` */
export function attachToHttp(options: Options, nameAndVersion: string): AttachedServer {
  const http = createServer((_request, response) => response.writeHead(404).end('This is a Socket.IO server.\n'));
  const io = new Server(http, options as Partial<ServerOptions>);
  let connections: EngineClient[] = [];
  return {
    io,
    nameAndVersion,
    listen: (port, host) => listen(http, port, host, 'Socket.IO port'),
    close: onlyOnce(() => {
      // Engine.IO clears its list of clients when it closes; `cut()` needs their transports.
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

/** Private member of an Engine.IO client: its WebSocket, absent on polling. */
interface EngineClient {
  transport: { socket?: { terminate(): void } };
}
