/**
 * Lateness of an existing timer of a thread: shows its event loop to the live view at no cost. `event-loop-watch.ts` measures the figures
 * of the result more precisely.
 */
const WINDOW_MS = 1000;

export class TimerLag {
  readonly #intervalMs: number;
  #tickedAtMs = performance.now();
  #beganAtMs = this.#tickedAtMs;
  #worstMs = 0;
  #lastMs = 0;

  /** @param intervalMs of the timer */
  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** To be called by the timer. @returns how late it was at most in the last whole second, in milliseconds */
  tick(): number {
    const nowMs = performance.now();
    this.#worstMs = Math.max(this.#worstMs, nowMs - this.#tickedAtMs - this.#intervalMs);
    this.#tickedAtMs = nowMs;
    if (nowMs - this.#beganAtMs >= WINDOW_MS) {
      this.#lastMs = Math.round(this.#worstMs);
      this.#worstMs = 0;
      this.#beganAtMs = nowMs;
    }
    return this.#lastMs;
  }
}
