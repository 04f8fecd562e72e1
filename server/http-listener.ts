/** HTTP server inside the user's process that limits the resources of unauthenticated clients. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { onlyOnce } from '../protocol/base/only-once.ts';
import { CapacityError } from '../protocol/codes/errors.ts';
import type { Guard } from './guard.ts';
import { watchConnections } from './unauthenticated.ts';

interface HttpListenerOptions {
  /** 0 lets the system choose. */
  port: number;
  host: string;
  /** PEM. */
  tls: { key: string | Buffer; cert: string | Buffer } | undefined;
  /** Name of the port in error messages. */
  purpose: string;
}

export type HttpListener = Awaited<ReturnType<typeof openHttp>>;

/**
 * @param answer the request handler; if it throws or rejects, the client gets a 500
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function openHttp(
  { port, host, tls, purpose }: HttpListenerOptions,
  guard: Guard,
  answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
) {
  const http = tls ? createTlsServer(tls) : createServer();
  // A packet can hold hundreds of pipelined requests, which Node would handle at once.
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
  const connections = watchConnections(http);
  const boundPort = await listen(http, port, host, purpose);
  /** Also closes connections that have not sent anything yet. Idempotent. */
  const close = onlyOnce(() => {
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    connections.end();
    return closed;
  });
  return { http, port: boundPort, admit: connections.admit, close };
}

/** Length of the kernel's queue of connections while the event loop is busy; the kernel caps it at `somaxconn`. */
const BACKLOG = 4096;

/**
 * Returns the port, chosen by the system if `port` is 0.
 * @param host empty for all IPv4 and IPv6 addresses @param purpose name of the port in the error message
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function listen(server: Server, port: number, host: string, purpose: string): Promise<number> {
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
