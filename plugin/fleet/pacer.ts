/**
 * Runs queued work at a steady rate, in small portions: connections that all come or go in one tick would stall both
 * ends, and the stall would be blamed on the server. The schedule is absolute, so a late portion is made up for.
 */
const PORTION_MS = 10;

export class Pacer {
  readonly #perMs: number;
  #queue: (() => void)[] = [];
  #next = 0;
  #startMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(ratePerSec: number) {
    this.#perMs = ratePerSec / 1000;
  }

  add(work: () => void): void {
    this.#queue.push(work);
    if (this.#timer) return;
    this.#startMs = performance.now();
    this.#timer = setInterval(() => this.#run(), PORTION_MS);
  }

  #run(): void {
    const due = Math.ceil((performance.now() - this.#startMs) * this.#perMs);
    const end = Math.min(this.#queue.length, due);
    while (this.#next < end) this.#queue[this.#next++]?.();
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
