/** Finds and checks ports for the listeners of the stack. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describeListeners } from '../../protocol/base/machine/sockets.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';

const LISTEN_TIMEOUT_MS = 2000;

/**
 * Range of ports for listeners. It is below the system's ephemeral ports (from 32768 on Linux, 49152 on macOS).
 * Otherwise, a client connection could occupy the port of a worker while PM2 restarts it.
 */
export const LISTENER_PORT_RANGE = { low: 12_000, high: 32_000 };

/** Returns `count` different free ports of 127.0.0.1. */
export async function findFreePorts(count: number): Promise<number[]> {
  await requireLoopback();
  const ports = new Set<number>();
  for (let attempt = 0; ports.size < count && attempt < count * 50; attempt++) {
    const port = randomInt(LISTENER_PORT_RANGE.low, LISTENER_PORT_RANGE.high);
    if ((await listenProblem(port)) === undefined) ports.add(port);
  }
  if (ports.size === count) return [...ports];
  const message = `No ${count} free ports between ${LISTENER_PORT_RANGE.low} and ${LISTENER_PORT_RANGE.high} on 127.0.0.1.`;
  throw new CapacityError('PORT_UNAVAILABLE', message, 'Stop programs that listen there; ss -ltnp lists them.');
}

/**
 * Checks that the stack can listen on this port of 127.0.0.1, and that no other program replies there.
 * @param fix alternative for the user to stopping the other program
 * @throws CapacityError `PORT_UNAVAILABLE` with the name of the other program
 */
export async function assertPortFree(port: number, fix: string): Promise<void> {
  await requireLoopback();
  const problem = await listenProblem(port);
  if (problem === 'EACCES') {
    throw new CapacityError('PORT_UNAVAILABLE', `this user is not allowed to listen on port ${port} of 127.0.0.1`, fix);
  }
  // Tries to connect as well. A published port of a container can accept connections although listening on it succeeds.
  if (problem === undefined && !(await isListening('127.0.0.1', port))) return;
  throw new CapacityError(
    'PORT_UNAVAILABLE',
    `port ${port} of 127.0.0.1, on which the bundled deployment would listen, is taken by ${await describeListeners(port)}`,
    `stop that program, ${fix}`,
  );
}

export function isListening(hostname: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '');
    const socket = connect({ host, port, timeout: LISTEN_TIMEOUT_MS });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => finish(true));
    // A timeout counts as occupied, because a busy server may not accept connections in time.
    socket.once('timeout', () => finish(true));
    socket.once('error', () => finish(false));
  });
}

/**
 * Checks that 127.0.0.1 accepts connections. If the loopback interface is down, the address can be missing, or allow
 * only listening.
 */
async function requireLoopback(): Promise<void> {
  const server = createServer();
  try {
    const listening = once(server, 'listening');
    server.listen(0, '127.0.0.1');
    await listening;
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect').finally(() => socket.destroy());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EADDRNOTAVAIL' && code !== 'ENETUNREACH') throw error;
    throw new CapacityError(
      'PORT_UNAVAILABLE',
      `127.0.0.1, on which the bundled deployment would listen, is not usable on this machine or in this network namespace: ${code}`,
      'bring it up: ip link set lo up && ip addr add 127.0.0.1/8 dev lo; or measure a server elsewhere: TARGET=http://host:port',
    );
  } finally {
    server.close();
  }
}

/**
 * Tries to listen on a port of 127.0.0.1.
 * @returns the error code; undefined on success
 */
async function listenProblem(port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    const listening = once(server, 'listening');
    server.listen(port, '127.0.0.1');
    await listening;
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  } finally {
    server.close();
  }
}
