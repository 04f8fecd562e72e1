/** Lets the runs of one machine open inspectors one after the other, since processes share the port of their inspectors. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;
/** Time to wait for a turn. A reading takes less, except of a heap of some GB. Afterwards, the attempt to open shows the obstacle. */
const WAIT_MS = 10_000;

/**
 * Waits until no other run uses the resource `name`. The turn is an abstract Unix socket: it belongs to the network namespace, as ports do,
 * and the kernel removes it when the process ends.
 * @returns a function that ends the turn; idempotent
 */
export async function takeTurn(name: string): Promise<() => void> {
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
