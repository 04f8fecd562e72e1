import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server as SocketServer } from 'socket.io';

/**
 * A Socket.IO server that records the actions of its clients in order, and responds to some: it sends `welcome` on
 * connect, `answer` to `ask`, two arguments to `pair`, and drops the connection on `kick`.
 */
export class RecordingServer {
  readonly io: SocketServer;
  /** `connect /`, `event / ["join","lobby"]`, `disconnect /`, … */
  readonly log: string[] = [];
  readonly #http: Server;

  constructor(namespaces: string[] = ['/']) {
    this.#http = createServer();
    this.io = new SocketServer(this.#http);
    for (const name of namespaces) {
      this.io.of(name).on('connection', (socket) => {
        this.log.push(`connect ${name} ${JSON.stringify(socket.handshake.auth)}`);
        socket.emit('welcome');
        socket.on('disconnect', () => this.log.push(`disconnect ${name}`));
        socket.onAny((event: string, ...args: unknown[]) => {
          const ack = typeof args.at(-1) === 'function' ? (args.pop() as (...values: unknown[]) => void) : undefined;
          this.log.push(`event ${name} ${JSON.stringify([event, ...args])}${ack ? ' ack' : ''}`);
          ack?.({ event, count: args.length });
          if (event === 'ask') socket.emit('answer', { to: args[0] });
          if (event === 'pair') socket.emit('pair-answer', 'ok', { id: 7 });
          if (event === 'kick') socket.conn.close();
        });
      });
    }
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    await this.io.close();
  }
}
