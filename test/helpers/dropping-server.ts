import type { ServerOptions } from 'socket.io';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import type { FreezeRequest } from '../../protocol/link/ledger-messages.ts';
import { startChat } from './chat-server.ts';
import type { Cleaner } from './raw-listen.ts';

/** Starts a server that can broadcast to its room, and that can drop its connections. */
export async function startDropping(t: Cleaner, options: Partial<ServerOptions> = {}) {
  /** Received CONNECT packets, in order. */
  const connects: string[] = [];
  const orders: FreezeRequest[] = [];
  const counts = { joins: 0, recovered: 0 };
  const { io, url } = await startChat(t, () => {}, options);
  io.engine.on('connection', (session) => {
    session.on('packet', ({ type, data }: { type: string; data?: string }) => {
      if (type === 'message' && data?.startsWith('0')) connects.push(data);
    });
  });
  io.on('connection', (socket) => {
    if (socket.recovered) counts.recovered++;
    socket.on('join_room', async ({ clientKey: room }, ack) => {
      counts.joins++;
      await socket.join(room);
      ack({ room, worker: 'w0', members: 1 });
    });
  });
  return {
    ...{ io, url, connects, counts, orders },
    members: () => io.sockets.adapter.rooms.get('capacity')?.size ?? 0,
    /** Sends a broadcast, and adds its order to `orders`. */
    broadcast() {
      const seq = orders.length + 1;
      const sentAtUs = monotonicUs();
      io.to('capacity').emit('broadcast', { seq, sentAtUs, worker: 'w0', data: 'x'.repeat(100) });
      orders.push({ seq, room: 'capacity', worker: 'w0', sentAtUs, intendedAtUs: sentAtUs });
    },
    /** Drops all connections at once, like a crashed worker or a restarted proxy. */
    drop() {
      for (const { conn } of io.sockets.sockets.values()) conn.close();
    },
  };
}
