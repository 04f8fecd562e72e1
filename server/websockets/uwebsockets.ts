/** µWebSockets.js, which is HTTP server and WebSocket server in one: Node's own are not used. */
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Server, type ServerOptions } from 'socket.io';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { importOptional } from '../optional-packages.ts';
import type { Attach } from './attach.ts';

/** npm has µWebSockets.js only as uws-pack, which contains the same binaries. */
const PACKAGE = 'uws-pack@20.0.8';

type ListenSocket = object;
interface Response {
  writeStatus(status: string): Response;
  end(body: string): void;
}
interface UwsApp {
  any(pattern: string, handler: (response: Response) => void): void;
  listen(host: string, port: number, options: number, callback: (token: ListenSocket | false) => void): void;
  /** Also ends all connections. */
  close(): void;
}
interface Uws {
  App(): UwsApp;
  /** One for all connections: without a context of their own, each message is compressed by itself. */
  SHARED_COMPRESSOR: number;
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  us_socket_local_port(token: ListenSocket): number;
  us_listen_socket_close(token: ListenSocket): void;
}

export const attachToUws: Attach = async (options, modules) => {
  const { module, version } = await importOptional<Uws | { default: Uws }>(PACKAGE, modules);
  const uws = 'App' in module ? module : module.default;
  const app = uws.App();
  const io = new Server(options);
  // Engine.IO's own option says only which messages are worth it; this one, which its types leave out, is µWebSockets.js's.
  const compression = options.perMessageDeflate ? { compression: uws.SHARED_COMPRESSOR } : {};
  io.attachApp(app, compression as Partial<ServerOptions>);
  app.any('/*', (response) => response.writeStatus('404 Not Found').end('This is a Socket.IO server.\n'));

  let token: ListenSocket | undefined;
  // It may be closed once.
  const cut = onlyOnce(() => app.close());

  function listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      // Without the option, several processes can listen on the same port.
      app.listen(host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (found) => {
        if (found) {
          token = found;
          resolve(uws.us_socket_local_port(found));
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
    const left = Promise.all(clients.map((client) => once(client, 'close')));
    await io.close();
    await left;
    await setImmediate();
    // What is left are HTTP connections without a request, and WebSockets whose clients do not answer the close frame.
    cut();
  });

  return { io, nameAndVersion: `uWebSockets.js (uws-pack ${version})`, listen, close, cut };
};
