/** An HTTP server of ours: who has not given a token takes little of the process that it is in, and not for long. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { onlyOnce } from '../protocol/base/only-once.ts';
import type { Guard } from './guard.ts';
import { listen } from './listen.ts';
import { watchConnections } from './strangers.ts';

interface HttpListenerOptions {
  /** 0 chooses a free one. */
  port: number;
  host: string;
  /** PEM. */
  tls: { key: string | Buffer; cert: string | Buffer } | undefined;
  /** What the port is for, for the error message. */
  purpose: string;
}

export type HttpListener = Awaited<ReturnType<typeof openHttp>>;

/**
 * @param answer may throw, or reject: the request is answered with 500 then
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function openHttp(
  { port, host, tls, purpose }: HttpListenerOptions,
  guard: Guard,
  answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
) {
  const http = tls ? createTlsServer(tls) : createServer();
  // Node answers all requests at once that come in one piece, hundreds of them.
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
  const chosen = await listen(http, port, host, purpose);
  /** Also ends connections that have not said anything yet. Idempotent. */
  const close = onlyOnce(() => {
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    connections.end();
    return closed;
  });
  return { http, port: chosen, admit: connections.admit, close };
}
