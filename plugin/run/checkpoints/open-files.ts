/** Each connection is an open socket in one of the server's processes, if they are all of them. */
import type { RunContext } from '../context.ts';
import { expectAgreement } from './agreement.ts';
import type { WarningsOnce } from './warnings.ts';

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
    const { measurements, openFiles, population } = this.#context;
    const before = this.#before;
    // A client that polls has a socket only while it asks.
    if (before === undefined || measurements.transports === 'polling') return;
    // A worker can open a file a little later than the generator its connection.
    await expectAgreement(this.#context, this.#warnings, async () => {
      const now = await openFiles();
      const held = population.connections();
      if (now === undefined || held - (now - before) <= Math.max(MISSING.least, MISSING.share * held)) return undefined;
      return {
        message: `${when}, the processes of the server have ${Math.max(0, now - before)} sockets and files more than before the load, and the generator holds ${held} connections: other processes hold the rest`,
        fix: 'name all processes of the server: those of every worker, or the one that starts them',
      };
    });
  }
}
