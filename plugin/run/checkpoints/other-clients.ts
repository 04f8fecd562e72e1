/**
 * Of a server whose workers count nothing for the run: those who use its port on this machine are the run, and nobody else.
 * Memory and CPU of other people's connections would be taken for those of the run's.
 */
import type { RunContext } from '../context.ts';
import { expectAgreement } from './agreement.ts';
import type { WarningsOnce } from './warnings.ts';

/** Of the run's connections: a page of metrics on the same port, or a health check. */
const ALLOWED = { least: 5, share: 0.01 };

export class OtherClients {
  readonly #context: RunContext;
  readonly #warnings: WarningsOnce;
  /** Those of others before the load, such as the connections of another program to the same port. */
  #before: number | undefined;

  constructor(context: RunContext, warnings: WarningsOnce) {
    this.#context = context;
    this.#warnings = warnings;
  }

  /** @returns how many are not the run's own, if they are more than a few */
  async begin(): Promise<number> {
    this.#before = await this.#others();
    return this.#before !== undefined && this.#before > ALLOWED.least ? this.#before : 0;
  }

  async check(when: string): Promise<void> {
    const { population, measurements } = this.#context;
    const before = this.#before;
    // Clients that poll have any number of connections at a time.
    if (before === undefined || measurements.transports !== 'websocket') return;
    // A connection that has just ended can be listed a little longer.
    await expectAgreement(this.#context, this.#warnings, async () => {
      const others = await this.#others();
      const held = population.connections();
      const more = others === undefined ? 0 : others - before;
      if (more <= Math.max(ALLOWED.least, ALLOWED.share * held)) return undefined;
      const message = `${when}, the target had ${more} connections beside the ${held} of the generator`;
      return { message, fix: 'measure a server that has no other users' };
    });
  }

  /** @returns connections that are not the run's own: in this process are those of its HTTP steps, and all receivers but one */
  async #others(): Promise<number | undefined> {
    const { population, sentinel } = this.#context;
    const outside = await this.#context.connections();
    return outside === undefined ? undefined : outside - population.connections() - (sentinel?.connected ? 1 : 0);
  }
}
