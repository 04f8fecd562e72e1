/** Measures a load whose virtual users all leave by themselves. */
import { contractBroadcasts } from './broadcasts/contract-broadcasts.ts';
import { ownEventBroadcasts } from './broadcasts/own-event.ts';
import { measureDuringLoad } from './broadcasts/window.ts';
import type { RunContext } from './context.ts';
import { abortablePause } from './wait.ts';

export class LeavingUsers {
  readonly #context: RunContext;
  readonly #over = new AbortController();
  #broadcasts: Promise<void> | undefined;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Signal that aborts when the last virtual user has left. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Starts the measurement. Must be called when the first virtual users arrive. */
  begin(): void {
    this.#broadcasts ??= this.#countBroadcasts();
    // Prevents an unhandled rejection, because the caller of `untilGone` handles the error later.
    this.#broadcasts.catch(() => {});
  }

  /**
   * Waits until the last virtual user has left. There is no time limit, because Artillery ends a run whose users never
   * leave.
   */
  async untilGone(): Promise<void> {
    const { population, signal } = this.#context;
    await population.gone(Number.POSITIVE_INFINITY, signal);
    this.#over.abort();
    await this.#broadcasts;
  }

  async #countBroadcasts(): Promise<void> {
    const { config, signal } = this.#context;
    const { delivery, broadcasts, leadSeconds } = config;
    if (!delivery && broadcasts.count === 0) return;
    // If the server sends the event by itself, the run counts it as soon as the first user has arrived.
    const isListening = delivery !== undefined && delivery.publish === undefined;
    if (!isListening) await abortablePause(leadSeconds * 1000, AbortSignal.any([signal, this.over]));
    if (signal.aborted) return;
    const broadcasting = delivery
      ? ownEventBroadcasts(this.#context, delivery, this.over)
      : contractBroadcasts(this.#context);
    await measureDuringLoad(this.#context, broadcasting);
  }
}
