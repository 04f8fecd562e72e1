/** HTTP server in the user's process. It limits the resources of unauthenticated clients. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { onlyOnce } from '../protocol/base/only-once.ts';
import { CapacityError } from '../protocol/codes/errors.ts';
import type { HandlerGuard } from './guard.ts';
import { limitUnauthenticatedConnections } from './unauthenticated.ts';

interface HttpListenerOptions {
  /** Port; 0 lets the system choose. */
  port: number;
  host: string;
  /** PEM. */
  tls: { key: string | Buffer; cert: string | Buffer } | undefined;
  /** Name of the port for error messages. */
  purpose: string;
}

export type HttpListener = Awaited<ReturnType<typeof openHttpListener>>;

/**
 * @param answer request handler; if it throws or rejects, the client gets status 500
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function openHttpListener(
  { port, host, tls, purpose }: HttpListenerOptions,
  guard: HandlerGuard,
  answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
) {
  const http = tls ? createTlsServer(tls) : createServer();
  // A packet can contain hundreds of pipelined requests, which Node would handle all at once.
  http.maxRequestsPerSocket = 1;
  http.on('dropRequest', (_request: IncomingMessage, socket: Socket) => socket.destroy());
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      await answer(request, response);
    } catch (error) {
      if (!response.headersSent) response.writeHead(500);
      response.end();
      throw error;
    }
  };
  http.on('request', guard.wrap('http', serve));
  const connections = limitUnauthenticatedConnections(http);
  const boundPort = await listenOnPort(http, port, host, purpose);
  /** Closes all connections, including connections that have not sent anything yet. A second call does nothing. */
  const close = onlyOnce(() => {
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    connections.end();
    return closed;
  });
  return { http, port: boundPort, admit: connections.admit, close };
}

/**
 * Length of the kernel's queue for new connections while the event loop is busy. The kernel limits it to `somaxconn`.
 */
const BACKLOG = 4096;

/**
 * Listens on a port.
 * @param host empty for all IPv4 and IPv6 addresses
 * @param purpose name of the port for the error message
 * @returns the port; the system chooses it if `port` is 0
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function listenOnPort(server: Server, port: number, host: string, purpose: string): Promise<number> {
  try {
    server.listen({ port, host, backlog: BACKLOG });
    await once(server, 'listening');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const address = `${host || '*'}:${port}`;
    const [problem, fix] =
      code === 'EADDRINUSE'
        ? [
            `${address} is in use by another program`,
            `free the port or choose another; \`ss -ltnp 'sport = :${port}'\` shows the program`,
          ]
        : [
            `cannot listen on ${address}: ${message}`,
            'choose an address of this machine, and a port on which this user can listen',
          ];
    throw new CapacityError('PORT_UNAVAILABLE', `${purpose}: ${problem}`, fix, { cause });
  }
  return (server.address() as AddressInfo).port;
}
