/**
 * Runs queued work at a steady rate, in small batches: many connections that open or close in a single tick would stall
 * both ends, and the server would get the blame. The schedule is absolute, so a late batch does not lower the rate.
 */
const BATCH_MS = 10;

/** @param afterMs how long before its scheduled time it is called; 0 if that time has come */
type Work = (afterMs: number) => void;

export class Pacer {
  readonly #perMs: number;
  readonly #aheadMs: number;
  #queue: Work[] = [];
  #next = 0;
  #startMs = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param aheadMs calls the work of the next so many milliseconds at once; the work itself then waits for `afterMs` */
  constructor(ratePerSec: number, aheadMs = 0) {
    this.#perMs = ratePerSec / 1000;
    this.#aheadMs = aheadMs;
  }

  add(work: Work): void {
    this.#queue.push(work);
    if (this.#timer) return;
    this.#startMs = performance.now();
    this.#timer = setInterval(() => this.#run(), this.#aheadMs || BATCH_MS);
    if (this.#aheadMs > 0) setImmediate(() => this.#run());
  }

  #run(): void {
    const elapsedMs = performance.now() - this.#startMs;
    const due = Math.ceil((elapsedMs + this.#aheadMs) * this.#perMs);
    // Checked on every pass: the work can close this pacer.
    while (this.#next < Math.min(this.#queue.length, due)) {
      const afterMs = Math.max(0, this.#next / this.#perMs - elapsedMs);
      this.#queue[this.#next++]?.(afterMs);
    }
    if (this.#next === this.#queue.length) this.close();
  }

  /** Discards the work that has not run yet. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#queue = [];
    this.#next = 0;
  }
}
