/** Ports for the stack's listeners. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describeListeners } from '../../protocol/base/machine/port-listeners.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';

const LISTEN_TIMEOUT_MS = 2000;

/**
 * Listeners stay below the system's range for outgoing connections (from 32768 on Linux, 49152 on macOS). Within it,
 * one of the connections under test could take a worker's port while PM2 restarts that worker.
 */
export const PORT_RANGE = { low: 12_000, high: 32_000 };

/** @returns `count` different ports on 127.0.0.1 that are free now */
export async function freePorts(count: number): Promise<number[]> {
  await requireLoopback();
  const ports = new Set<number>();
  for (let attempt = 0; ports.size < count && attempt < count * 50; attempt++) {
    const port = randomInt(PORT_RANGE.low, PORT_RANGE.high);
    if ((await listenProblem(port)) === undefined) ports.add(port);
  }
  if (ports.size === count) return [...ports];
  const message = `No ${count} free ports between ${PORT_RANGE.low} and ${PORT_RANGE.high} on 127.0.0.1.`;
  throw new CapacityError('PORT_UNAVAILABLE', message, 'Stop programs that listen there; ss -ltnp lists them.');
}

/**
 * Checks that the stack can listen on this port of 127.0.0.1, and that nothing else answers there.
 * @param fix alternatives to stopping the other program
 * @throws CapacityError `PORT_UNAVAILABLE` with the name of the program that listens there
 */
export async function assertFree(port: number, fix: string): Promise<void> {
  await requireLoopback();
  const problem = await listenProblem(port);
  if (problem === 'EACCES') {
    throw new CapacityError('PORT_UNAVAILABLE', `this user may not listen on port ${port} of 127.0.0.1`, fix);
  }
  // A published port of a container can answer where a listener would still be allowed.
  if (problem === undefined && !(await listens('127.0.0.1', port))) return;
  throw new CapacityError(
    'PORT_UNAVAILABLE',
    `port ${port} of 127.0.0.1, on which the bundled deployment would listen, is taken by ${await describeListeners(port)}`,
    `stop that program, ${fix}`,
  );
}

/** @returns whether a program accepts connections there */
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

/** An interface that is down may lack the address, or lets programs listen where nobody can connect. */
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
      `this machine, or this network namespace, has no usable 127.0.0.1, on which the bundled deployment would listen: ${code}`,
      'bring it up: ip link set lo up && ip addr add 127.0.0.1/8 dev lo; or measure a server elsewhere: TARGET=http://host:port',
    );
  } finally {
    server.close();
  }
}

/** @returns the error code of an attempt to listen on 127.0.0.1; undefined if it succeeds */
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
