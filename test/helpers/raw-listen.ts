/** Servers on a free port of loopback. After the test, they are closed with all connections. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** Context of a test, or `{ after }` of `node:test`. */
export interface Cleaner {
  after(cleanUp: () => unknown): void;
}

/** @returns a context whose parts are cleaned up in reverse order, for parts that need earlier parts until they end */
export function inReverse(t: Cleaner): Cleaner {
  const ends: (() => unknown)[] = [];
  t.after(async () => {
    const errors: unknown[] = [];
    for (const end of ends) {
      try {
        await end();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors);
  });
  return { after: (end) => ends.unshift(end) };
}

/**
 * Makes a server listen. Resets of its sockets are ignored.
 * @returns the port
 */
export async function listen(t: Cleaner, server: Server, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  t.after(async () => {
    server.close();
    // Waits within this test until the sockets have closed, because the next test may replace timers.
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

/**
 * Starts a server that sends raw bytes.
 * @param onData called with the first bytes of a client
 * @returns the URL of the server
 */
export function rawServer(t: Cleaner, onData: (socket: Socket, data: Buffer) => void = () => {}): Promise<string> {
  return urlOf(
    t,
    createServer((socket) => void socket.once('data', (data) => onData(socket, data))),
  );
}
