import { startChat } from './chat-server.ts';
import type { Cleaner } from './raw-listen.ts';

/**
 * A Socket.IO server that records the actions of its clients in order. It sends `welcome` on connect, replies to `ask`
 * with `answer`, sends two arguments for `pair`, and drops the connection on `kick`.
 * @returns its log: `connect /`, `event / ["join","lobby"]`, `disconnect /`, …
 */
export async function startRecording(t: Cleaner, namespaces = ['/']): Promise<{ url: string; log: string[] }> {
  const log: string[] = [];
  const { url } = await startChat(t, (io) => {
    for (const name of namespaces) {
      io.of(name).on('connection', (socket) => {
        log.push(`connect ${name} ${JSON.stringify(socket.handshake.auth)}`);
        socket.emit('welcome');
        socket.on('disconnect', () => log.push(`disconnect ${name}`));
        socket.onAny((event: string, ...args: unknown[]) => {
          const ack = typeof args.at(-1) === 'function' ? (args.pop() as (...values: unknown[]) => void) : undefined;
          log.push(`event ${name} ${JSON.stringify([event, ...args])}${ack ? ' ack' : ''}`);
          ack?.({ event, count: args.length });
          if (event === 'ask') socket.emit('answer', { to: args[0] });
          if (event === 'pair') socket.emit('pair-answer', 'ok', { id: 7 });
          if (event === 'kick') socket.conn.close();
        });
      });
    }
  });
  return { url, log };
}
