import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { Server, type ServerOptions } from 'socket.io';
import { monotonicUs } from '../../protocol/clock/clock.ts';
import type { FreezeOrder } from '../../protocol/link/ledger.ts';

/** A server whose room can be broadcast to, and whose connections can be dropped. */
export class DroppingServer {
  readonly io: Server;
  readonly url: string;
  /** CONNECT packets, as they came. */
  readonly connects: string[] = [];
  joins = 0;
  recovered = 0;
  readonly orders: FreezeOrder[] = [];

  private constructor(io: Server, port: number) {
    this.io = io;
    this.url = `http://127.0.0.1:${port}`;
    io.engine.on('connection', (session) => {
      session.on('packet', ({ type, data }: { type: string; data?: string }) => {
        if (type === 'message' && data?.startsWith('0')) this.connects.push(data);
      });
    });
    io.on('connection', (socket) => {
      if (socket.recovered) this.recovered++;
      socket.on('join_room', async ({ clientKey: room }, ack) => {
        this.joins++;
        await socket.join(room);
        ack({ room, worker: 'w0', members: 1 });
      });
    });
  }

  /** Ends with the test. */
  static async start(t: TestContext, options: Partial<ServerOptions> = {}): Promise<DroppingServer> {
    const http = createServer();
    const io = new Server(http, options);
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    t.after(() => io.close());
    return new DroppingServer(io, (http.address() as AddressInfo).port);
  }

  get members(): number {
    return this.io.sockets.adapter.rooms.get('capacity')?.size ?? 0;
  }

  /** Its order is the last of `orders`. */
  broadcast(): void {
    const seq = this.orders.length + 1;
    const sentAtUs = monotonicUs();
    this.io.to('capacity').emit('broadcast', { seq, sentAtUs, worker: 'w0', data: 'x'.repeat(100) });
    this.orders.push({ seq, room: 'capacity', worker: 'w0', sentAtUs, intendedAtUs: sentAtUs });
  }

  /** All at once, as when a worker dies or a proxy restarts. */
  drop(): void {
    for (const { conn } of this.io.sockets.sockets.values()) conn.close();
  }
}
