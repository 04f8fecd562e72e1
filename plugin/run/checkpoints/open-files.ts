/** Each connection is an open socket in one of the server's processes, if they are all of them. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RunContext } from '../context.ts';
import type { WarningsOnce } from './warnings.ts';

/** A worker can open a file a little later than the generator its connection. */
const AGREE_TIMEOUT_MS = 3000;
const POLL_MS = 200;
/** Of the connections, so many can be missing among the open files: others are closed meanwhile. */
const MISSING = { least: 5, share: 0.1 };

export class OpenFiles {
  readonly #context: RunContext;
  readonly #warnings: WarningsOnce;
  /** Before the load; undefined if it is not known. */
  #before: number | undefined;

  constructor(context: RunContext, warnings: WarningsOnce) {
    this.#context = context;
    this.#warnings = warnings;
  }

  async begin(): Promise<void> {
    this.#before = await this.#context.openFiles();
  }

  async check(when: string): Promise<void> {
    const { measurements, openFiles, population, signal } = this.#context;
    const before = this.#before;
    // A client that polls has a socket only while it asks.
    if (before === undefined || measurements.transports === 'polling') return;
    const deadlineMs = performance.now() + AGREE_TIMEOUT_MS;
    for (;;) {
      const now = await openFiles();
      const held = population.connections();
      if (now === undefined || held - (now - before) <= Math.max(MISSING.least, MISSING.share * held)) return;
      if (signal.aborted || this.#warnings.has('WORKERS_DISAGREE')) return;
      if (performance.now() > deadlineMs) {
        const message = `${when}, the processes of the server have ${Math.max(0, now - before)} sockets and files more than before the load, and the generator holds ${held} connections: other processes hold the rest`;
        const fix = 'name all processes of the server: those of every worker, or the one that starts them';
        this.#warnings.warn('WORKERS_DISAGREE', message, fix);
        return;
      }
      await delay(POLL_MS);
    }
  }
}
