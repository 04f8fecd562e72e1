/** HTTP server inside the user's process that limits the resources of unauthenticated clients. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { onlyOnce } from '../protocol/base/only-once.ts';
import type { Guard } from './guard.ts';
import { listen } from './listen.ts';
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
