/** Socket.IO on µWebSockets.js. It also replaces Node's HTTP server. */
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Server, type ServerOptions } from 'socket.io';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { importOptional } from '../optional-packages.ts';
import type { AttachServer } from './attach.ts';

/** Package on npm with the same binaries. µWebSockets.js itself is not on npm. */
const PACKAGE = 'uws-pack@20.0.8';

type ListenSocket = object;
interface Response {
  writeStatus(status: string): Response;
  end(body: string): void;
}
interface UwsApp {
  any(pattern: string, handler: (response: Response) => void): void;
  listen(host: string, port: number, options: number, callback: (token: ListenSocket | false) => void): void;
  /** Closes the listener and all connections. */
  close(): void;
}
interface Uws {
  App(): UwsApp;
  /** A compressor that all connections share. Each message is compressed independently. */
  SHARED_COMPRESSOR: number;
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  us_socket_local_port(token: ListenSocket): number;
  us_listen_socket_close(token: ListenSocket): void;
}

export const attachToUws: AttachServer = async (options, modules) => {
  const { module, version } = await importOptional<Uws | { default: Uws }>(PACKAGE, modules);
  const uws = 'App' in module ? module : module.default;
  const app = uws.App();
  const io = new Server(options);
  // Turns on compression in µWebSockets.js. The types of Engine.IO lack this option, and Engine.IO's own option only
  // selects the messages.
  const compression = options.perMessageDeflate ? { compression: uws.SHARED_COMPRESSOR } : {};
  io.attachApp(app, compression as Partial<ServerOptions>);
  app.any('/*', (response) => response.writeStatus('404 Not Found').end('This is a Socket.IO server.\n'));

  let token: ListenSocket | undefined;
  // Prevents a second close, which is an error.
  const cut = onlyOnce(() => app.close());

  function listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      // Reserves the port. Otherwise, several processes could listen on it.
      app.listen(host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (listenSocket) => {
        if (listenSocket) {
          token = listenSocket;
          resolve(uws.us_socket_local_port(listenSocket));
        } else {
          const message = `Socket.IO port: cannot listen on ${host}:${port}`;
          const fix = 'choose an address of this machine, and a free port on which this user can listen';
          reject(new CapacityError('PORT_UNAVAILABLE', message, fix));
        }
      });
    });
  }

  const close = onlyOnce(async () => {
    if (token) uws.us_listen_socket_close(token);
    const clients = Object.values((io.engine as unknown as { clients: Record<string, NodeJS.EventEmitter> }).clients);
    const closed = Promise.all(clients.map((client) => once(client, 'close')));
    await io.close();
    await closed;
    await setImmediate();
    // Closes the remaining connections: idle HTTP connections, and WebSockets whose clients do not reply to the close
    // frame.
    cut();
  });

  return { io, nameAndVersion: `uWebSockets.js (uws-pack ${version})`, listen, close, cut };
};
