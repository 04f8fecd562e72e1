/**
 * Lets several runs on one machine open inspectors one after the other, because all processes use the same port for
 * their inspectors.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;
/**
 * Longest time to wait for other runs, in milliseconds. A memory reading takes less, except from a heap of some GB.
 * After this time, the run tries to open the inspector nevertheless.
 */
const WAIT_MS = 10_000;

/**
 * Waits until no other run uses the resource `name`, and reserves it. The reservation is an abstract Unix socket: like
 * a port, it belongs to the network namespace, and the kernel removes it when the process ends.
 * @returns a function that ends the reservation; idempotent
 */
export async function reserveInspector(name: string): Promise<() => void> {
  const deadlineMs = performance.now() + WAIT_MS;
  for (;;) {
    const turn = createServer((socket) => socket.destroy()).unref();
    try {
      await once(turn.listen(`\0socketio-capacity: inspector of ${name}`), 'listening');
      return () => void turn.close();
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (!isTaken || performance.now() > deadlineMs) return () => {};
    }
    await delay(POLL_MS);
  }
}
