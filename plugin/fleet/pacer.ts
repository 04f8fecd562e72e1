/**
 * Runs queued tasks, such as closing connections, at a steady rate in small batches. Closing many connections at once
 * would delay client and server, and the delay would be attributed to the server. A late batch is larger, so the rate
 * stays the same.
 */
const BATCH_MS = 10;

type Work = () => void;

export class RatePacer {
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
    // The length of the queue is read again in each iteration, because a task can close this pacer.
    while (this.#next < Math.min(this.#queue.length, due)) this.#queue[this.#next++]?.();
    if (this.#next === this.#queue.length) this.close();
  }

  /** Discards the tasks that have not run yet. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#queue = [];
    this.#next = 0;
  }
}
