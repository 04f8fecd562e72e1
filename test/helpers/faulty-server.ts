/** A server that keeps the wire contract except for the requested delivery faults. */
import type { Socket } from 'socket.io';
import { monotonicUs } from '../../protocol/clock/clock.ts';
import { EVENTS } from '../../protocol/events.ts';
import { startChat } from './chat-server.ts';

/** How many of the room's members each fault affects, per broadcast. Different faults affect different members. */
export interface Faults {
  drop?: number;
  duplicate?: number;
  /** Sent after `lateMs`. */
  late?: number;
  lateMs?: number;
  /** Sent after the next broadcast. */
  reorder?: number;
  /** Sent to this many connections that never joined the room. */
  outsiders?: number;
  /** Closes the connections of this many members instead of sending. */
  kick?: number;
}

export type FaultyServer = Awaited<ReturnType<typeof startFaultyServer>>;

const ROOM = 'capacity';

export async function startFaultyServer() {
  const members: Socket[] = [];
  const ends: (() => unknown)[] = [];
  const { io, url } = await startChat({ after: (end) => ends.push(end) });
  let heldBack: (() => void)[] = [];
  io.on('connection', (socket) => {
    socket.on(EVENTS.joinRoom, (_room, ack) => {
      members.push(socket);
      ack?.({ room: ROOM, worker: 'w0', members: members.length });
    });
    socket.on('disconnect', () => {
      const index = members.indexOf(socket);
      if (index >= 0) members.splice(index, 1);
    });
  });
  return {
    url,
    members: () => members.length,
    /** @returns `sentAtUs` of the broadcast */
    broadcast(seq: number, faults: Faults = {}) {
      const { drop = 0, duplicate = 0, late = 0, lateMs = 0, reorder = 0, outsiders = 0, kick = 0 } = faults;
      const message = { seq, sentAtUs: monotonicUs(), worker: 'w0', data: 'x'.repeat(1000) };
      const send = (socket: Socket) => socket.emit(EVENTS.broadcast, message);
      const overdue = heldBack;
      heldBack = [];
      const victims = [...members];
      for (const socket of victims.splice(0, duplicate)) {
        send(socket);
        send(socket);
      }
      for (const socket of victims.splice(0, late)) setTimeout(send, lateMs, socket);
      for (const socket of victims.splice(0, reorder)) heldBack.push(() => send(socket));
      for (const socket of victims.splice(0, kick)) socket.disconnect(true);
      victims.splice(0, drop);
      for (const socket of victims) send(socket);
      for (const sendOverdue of overdue) sendOverdue();
      const outside = [...io.sockets.sockets.values()].filter((socket) => !members.includes(socket));
      for (const socket of outside.slice(0, outsiders)) send(socket);
      return message.sentAtUs;
    },
    async close() {
      await Promise.all(ends.map((end) => end()));
    },
  };
}
