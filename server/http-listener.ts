/** An HTTP server of ours beside a server that is not: who has not given a token takes little of that process, and not for long. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Guard } from './guard.ts';
import { listen } from './listen.ts';
import { watchSockets } from './open-sockets.ts';

/** Far more than a run and whoever scrapes metrics have. */
const MAX_CONNECTIONS = 100;
/** For TLS, and for the head of a request, than which none of ours has more. */
const HEAD_TIMEOUT_MS = 10_000;
/** Node 18.2 wants the whole to take longer than the head. */
const LIMITS = {
  headersTimeout: HEAD_TIMEOUT_MS,
  requestTimeout: HEAD_TIMEOUT_MS + 1,
  connectionsCheckingInterval: 1000,
};

export interface HttpListenerOptions {
  /** 0 chooses a free one. */
  port: number;
  host: string;
  /** PEM. */
  tls: { key: string | Buffer; cert: string | Buffer } | undefined;
  /** What the port is for, for the error message. */
  purpose: string;
}

export interface HttpListener {
  http: Server;
  port: number;
  /** Also ends connections that have not said anything yet. Idempotent. */
  close(): Promise<void>;
}

/**
 * @param answer may throw, or reject: the request is answered with 500 then
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function openHttp(
  { port, host, tls, purpose }: HttpListenerOptions,
  guard: Guard,
  answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
): Promise<HttpListener> {
  const http = tls ? createTlsServer({ ...LIMITS, ...tls, handshakeTimeout: HEAD_TIMEOUT_MS }) : createServer(LIMITS);
  http.maxConnections = MAX_CONNECTIONS;
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
  const endSockets = watchSockets(http);
  const chosen = await listen(http, port, host, purpose);
  let closing: Promise<void> | undefined;
  const close = () => {
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    endSockets();
    return closed;
  };
  return { http, port: chosen, close: () => (closing ??= close()) };
}
