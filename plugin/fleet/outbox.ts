/**
 * Batches the messages from one process to another. Each message wakes its receiver, which costs more than all its other
 * work for a connection. So one batch carries everything of one turn of the event loop, and items that can wait share the
 * batch of the next few milliseconds.
 */
export class Outbox<T> {
  readonly #flushDelayMs: number;
  readonly #send: (batch: T[]) => void;
  #batch: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isFlushing = false;

  /** @param send sends a batch; never called with an empty one */
  constructor(flushDelayMs: number, send: (batch: T[]) => void) {
    this.#flushDelayMs = flushDelayMs;
    this.#send = send;
  }

  /** Whether a batch is waiting for further items. */
  get isGathering(): boolean {
    return this.#timer !== undefined;
  }

  /** Adds an item. The order of the calls is kept, whether items can wait or not. */
  add(one: T, canWait: boolean): void {
    this.#batch.push(one);
    if (this.#isFlushing) return;
    if (canWait) this.#timer ??= setTimeout(() => this.#flush(), this.#flushDelayMs);
    else {
      this.#isFlushing = true;
      setImmediate(() => this.#flush());
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isFlushing = false;
    const batch = this.#batch;
    this.#batch = [];
    if (batch.length > 0) this.#send(batch);
  }

  /** Discards unsent messages. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
