/** Measures a load whose virtual users all leave by themselves, while they connect and disconnect. */
import { contractBroadcasts } from './broadcasts/contract-broadcasts.ts';
import { ownEventBroadcasts } from './broadcasts/own-event.ts';
import { measureDuringLoad } from './broadcasts/window.ts';
import type { RunContext } from './context.ts';
import { pause } from './wait.ts';

export class LeavingUsers {
  readonly #context: RunContext;
  readonly #over = new AbortController();
  #broadcasts: Promise<void> | undefined;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Aborts when the last user has left. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Must be called when users begin to arrive. */
  begin(): void {
    this.#broadcasts ??= this.#countBroadcasts();
    // `untilGone` reports the error.
    this.#broadcasts.catch(() => {});
  }

  /** Waits until the last user has left, without a time limit. Artillery ends the run if a user never leaves. */
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
    // An event that the server sends by itself is counted from the first user on.
    const isListening = delivery !== undefined && delivery.publish === undefined;
    if (!isListening) await pause(leadSeconds * 1000, AbortSignal.any([signal, this.over]));
    if (signal.aborted) return;
    const broadcasting = delivery
      ? ownEventBroadcasts(this.#context, delivery, this.over)
      : contractBroadcasts(this.#context);
    await measureDuringLoad(this.#context, broadcasting);
  }
}
