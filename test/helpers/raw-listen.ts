/** Servers of a test file that listen until it has ended, whatever they hold open. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { after } from 'node:test';

const closers: (() => unknown)[] = [];
after(() => {
  for (const close of closers) close();
});

/** Calls `close` after the last test of the file. */
export function closeAtEnd(close: () => unknown): void {
  closers.push(close);
}

/** Resets of its sockets are of no interest. @returns the port, a free one */
export async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeAtEnd(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}
