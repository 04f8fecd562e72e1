/** Starts Socket.IO servers like those of users, in this process. They are closed after the test. */
import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { Server, type ServerOptions } from 'socket.io';
import { instrument } from '../../server/instrument.ts';
import { TOKEN } from './app.ts';
import { type Cleaner, listen } from './raw-listen.ts';

interface Options extends Partial<ServerOptions> {
  /** Options of `https.createServer`, in PEM format. */
  tls?: { cert: string; key: string; [option: string]: unknown };
  /** Handles requests that are not for Socket.IO. */
  onRequest?: RequestListener;
}

/**
 * Starts a server without `instrument(io)`.
 * @param setUp adds handlers to the server
 */
export async function startChat(t: Cleaner, setUp: (io: Server) => void = () => {}, settings: Options = {}) {
  const { tls, onRequest, ...options } = settings;
  const http = tls ? createTlsServer(tls, onRequest) : createServer(onRequest);
  const io = new Server(http, { serveClient: false, ...options });
  setUp(io);
  // The close is not awaited, because it waits for sockets that `listen` closes later.
  t.after(() => void io.close());
  const port = await listen(t, http);
  return { io, http, port, url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}` };
}

/**
 * Starts a server with `instrument(io)` as worker w0.
 * @returns the server, and the option `control`
 */
export async function startInstrumented(
  t: Cleaner,
  setUp: (io: Server) => void,
  { profile = false, ...options }: Options & { profile?: boolean } = {},
) {
  const server = await startChat(t, setUp, options);
  const { controlPort, close } = await instrument(server.io, { token: TOKEN, controlPort: 0, worker: 'w0', profile });
  t.after(close);
  return { ...server, control: { urls: [`http://127.0.0.1:${controlPort}`], token: TOKEN } };
}

/** Options of a server behind a proxy such as Next.js, which redirects a path that ends with a slash. */
export const WITHOUT_SLASH: Options = { path: '/socket.io', addTrailingSlash: false };

/**
 * Redirects paths that end with a slash, like Next.js.
 * @param http the server's HTTP server
 */
export function redirectSlashes(http: HttpServer): void {
  const location = '/socket.io';
  const isRedirected = ({ url }: IncomingMessage) => url?.startsWith(`${location}/`) ?? false;
  for (const event of ['request', 'upgrade'] as const) {
    const [serve] = http.listeners(event) as ((...args: unknown[]) => void)[];
    http.removeAllListeners(event);
    http.on(event, (request: IncomingMessage, ...rest: [ServerResponse | Duplex]) => {
      if (!isRedirected(request)) return serve?.(request, ...rest);
      const [answer] = rest;
      if (event === 'request') (answer as ServerResponse).writeHead(308, { location }).end();
      else answer.end(`HTTP/1.1 308 Permanent Redirect\r\nLocation: ${location}\r\nConnection: close\r\n\r\n`);
    });
  }
}
