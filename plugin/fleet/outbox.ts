/**
 * Batches the items that one process sends to another. Waking the receiver for a message costs more than all its other
 * work for a connection. So a batch contains everything from one turn of the event loop, and items that are not urgent
 * wait some milliseconds for further items.
 */
export class Outbox<T> {
  readonly #flushDelayMs: number;
  readonly #send: (batch: T[]) => void;
  #batch: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isFlushing = false;

  /**
   * Creates an outbox without items.
   * @param flushDelayMs longest time that an item waits
   * @param send sends a batch, which is never empty
   */
  constructor(flushDelayMs: number, send: (batch: T[]) => void) {
    this.#flushDelayMs = flushDelayMs;
    this.#send = send;
  }

  /** Whether items are waiting in a batch that has not been sent. */
  get isGathering(): boolean {
    return this.#timer !== undefined;
  }

  /**
   * Adds an item. Items are sent in the order of the calls.
   * @param canWait whether the item may wait for later items
   */
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

  /** Discards the items that have not been sent. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
