/**
 * Runs queued work at a steady rate, in small portions: connections that all come or go in one tick would stall both
 * ends, and the stall would be blamed on the server. The schedule is absolute, so a late portion is made up for.
 */
const BATCH_MS = 10;

/** @param afterMs how long before its time it is called; 0 if its time has come */
type Work = (afterMs: number) => void;

export class Pacer {
  readonly #perMs: number;
  readonly #aheadMs: number;
  #queue: Work[] = [];
  #next = 0;
  #startMs = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param aheadMs a portion of that length is handed out at once, ahead of its time: whoever gets it keeps the time */
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
    // Asked anew each time: the work may close us.
    while (this.#next < Math.min(this.#queue.length, due)) {
      const afterMs = Math.max(0, this.#next / this.#perMs - elapsedMs);
      this.#queue[this.#next++]?.(afterMs);
    }
    if (this.#next === this.#queue.length) this.close();
  }

  /** Forgets what has not been done yet. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#queue = [];
    this.#next = 0;
  }
}
