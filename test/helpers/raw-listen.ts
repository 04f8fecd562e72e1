/** Servers on a free port of loopback, which are closed after the test with all connections. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** The context of a test, or `{ after }` of `node:test`. */
export interface Cleaner {
  after(cleanUp: () => unknown): void;
}

/** Listens and ignores resets of its sockets. @returns the port */
export async function listen(t: Cleaner, server: Server, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  t.after(async () => {
    server.close();
    // Waits for the sockets to close within this test: the next one may mock timers.
    const open = [...sockets].filter(({ closed }) => !closed);
    const closed = open.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())));
    for (const socket of open) socket.destroy();
    await Promise.all(closed);
  });
  await once(server.listen(0, host), 'listening');
  return (server.address() as AddressInfo).port;
}

export async function urlOf(t: Cleaner, server: Server): Promise<string> {
  return `http://127.0.0.1:${await listen(t, server)}`;
}

/** Starts a server of raw bytes. @param onData gets the first bytes of a client @returns its URL */
export function rawServer(t: Cleaner, onData: (socket: Socket, data: Buffer) => void = () => {}): Promise<string> {
  return urlOf(
    t,
    createServer((socket) => void socket.once('data', (data) => onData(socket, data))),
  );
}
