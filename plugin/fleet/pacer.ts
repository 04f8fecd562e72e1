/**
 * Runs queued work, such as closing connections, at a steady rate in small batches. Closing many connections at once
 * would delay client and server, and the delay would be attributed to the server. A late batch does not lower the rate.
 */
const BATCH_MS = 10;

type Work = () => void;

export class Pacer {
  readonly #perMs: number;
  #queue: Work[] = [];
  #next = 0;
  #startMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(ratePerSec: number) {
    this.#perMs = ratePerSec / 1000;
  }

  add(work: Work): void {
    this.#queue.push(work);
    if (this.#timer) return;
    this.#startMs = performance.now();
    this.#timer = setInterval(() => this.#run(), BATCH_MS);
  }

  #run(): void {
    const elapsedMs = performance.now() - this.#startMs;
    const due = Math.ceil(elapsedMs * this.#perMs);
    // The queue is read again in each iteration, because the work can close this pacer.
    while (this.#next < Math.min(this.#queue.length, due)) this.#queue[this.#next++]?.();
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
