/** Ports for the stack's listeners. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { CapacityError } from '../../protocol/errors.ts';

const LISTEN_TIMEOUT_MS = 2000;

/**
 * Listeners stay below the system's range for outgoing connections (from 32768 on Linux, 49152 on macOS). Within it,
 * one of the connections under test could take a worker's port while PM2 restarts that worker.
 */
export const PORT_RANGE = { low: 12_000, high: 32_000 };

/** @returns `count` different ports on 127.0.0.1 that are free now */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let attempt = 0; ports.size < count && attempt < count * 50; attempt++) {
    const port = randomInt(PORT_RANGE.low, PORT_RANGE.high);
    if (await isFree(port)) ports.add(port);
  }
  if (ports.size === count) return [...ports];
  const message = `No ${count} free ports between ${PORT_RANGE.low} and ${PORT_RANGE.high} on 127.0.0.1.`;
  throw new CapacityError('PORT_UNAVAILABLE', message, 'Stop programs that listen there; ss -ltnp lists them.');
}

/** @throws CapacityError `PORT_UNAVAILABLE` */
export async function assertFree(port: number): Promise<void> {
  if (await isFree(port)) return;
  throw new CapacityError(
    'PORT_UNAVAILABLE',
    `Cannot listen on port ${port} of 127.0.0.1: another process uses it, or it requires root.`,
    `Stop that process (ss -ltnp 'sport = :${port}' names it), or choose another port: npx socketio-capacity stack up --port 8081`,
  );
}

/** Whether something accepts connections there already: then it is the user's, and the stack would be in its way. */
export function listens(hostname: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '');
    const socket = connect({ host, port, timeout: LISTEN_TIMEOUT_MS });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => done(true));
    // A server that is too busy to accept still holds the port.
    socket.once('timeout', () => done(true));
    socket.once('error', () => done(false));
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    const listening = once(server, 'listening');
    server.listen(port, '127.0.0.1');
    await listening;
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
