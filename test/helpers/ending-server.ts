/** Socket.IO servers in this process that refuse or close the connections of a run, with their own messages. */
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import { Server, type ServerOptions } from 'socket.io';
import { WebSocketServer } from 'ws';
import { type Cleaner, urlOf } from './raw-listen.ts';

/** @param serve adds the handlers of the application */
export async function endingServer(t: Cleaner, serve: (io: Server) => void, options: Partial<ServerOptions> = {}) {
  const http = createServer();
  const io = new Server(http, options);
  serve(io);
  t.after(() => void io.close());
  return urlOf(t, http);
}

/** Starts a proxy or firewall that sends the same response to every request. */
export function answeringServer(t: Cleaner, status: number, body: string, type = 'text/html') {
  const answer: RequestListener = (_, response) => response.writeHead(status, { 'Content-Type': type }).end(body);
  const http = createServer(answer);
  http.on('upgrade', (_, socket) => {
    const head = `HTTP/1.1 ${status} Refused\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
    socket.end(`${head}Connection: close\r\n\r\n${body}`);
  });
  return urlOf(t, http);
}

const OPEN = JSON.stringify({ sid: 'abc', upgrades: ['websocket'], pingInterval: 25_000, pingTimeout: 5000 });

/**
 * Starts a server with the protocol of Socket.IO 2, over polling and WebSocket.
 * @param refusal message of its middleware
 * @param isWebSocketOnly whether it refuses polling, with the message of its Engine.IO
 */
export function oldServer(t: Cleaner, { refusal, isWebSocketOnly = false }: OldServer = {}) {
  const packet = refusal === undefined ? '40' : `44${JSON.stringify(refusal)}`;
  const http: HttpServer = createServer((_, response) => {
    if (isWebSocketOnly) response.writeHead(400).end('{"code":0,"message":"Transport unknown"}');
    else response.end(`${OPEN.length + 1}:0${OPEN}${packet.length}:${packet}`);
  });
  const webSockets = new WebSocketServer({ server: http });
  webSockets.on('connection', (socket) => {
    socket.send(`0${OPEN}`);
    socket.send(packet);
  });
  t.after(() => webSockets.close());
  return urlOf(t, http);
}

interface OldServer {
  refusal?: string;
  isWebSocketOnly?: boolean;
}
