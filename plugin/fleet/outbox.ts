/**
 * What one process has to say to the other. Each message wakes its receiver, which costs more than all else about a
 * connection there; so what one turn of the event loop brought together travels together, and what can wait travels
 * with what comes within the next milliseconds.
 */
export class Outbox<T> {
  readonly #flushDelayMs: number;
  readonly #send: (batch: T[]) => void;
  #batch: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isLeaving = false;

  /** @param send never called with nothing to send */
  constructor(flushDelayMs: number, send: (batch: T[]) => void) {
    this.#flushDelayMs = flushDelayMs;
    this.#send = send;
  }

  /** Whether something waits for what else may come. */
  get isGathering(): boolean {
    return this.#timer !== undefined;
  }

  /** In the order of the calls, whatever can wait. */
  add(one: T, canWait: boolean): void {
    this.#batch.push(one);
    if (this.#isLeaving) return;
    if (canWait) this.#timer ??= setTimeout(() => this.#flush(), this.#flushDelayMs);
    else {
      this.#isLeaving = true;
      setImmediate(() => this.#flush());
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isLeaving = false;
    const batch = this.#batch;
    this.#batch = [];
    if (batch.length > 0) this.#send(batch);
  }

  /** What has not left stays behind. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
