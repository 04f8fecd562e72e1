/**
 * Simulated time. It passes only while a test waits, so a minute takes no real time, even on a busy machine. Timers,
 * including those of `node:timers/promises`, and `performance.now()` use it.
 */
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

const STEP_MS = 10;
/** Maximum number of steps: ten minutes of default steps, which is longer than any deadline of a run. */
const LIMIT_STEPS = 60_000;

export class VirtualTime {
  readonly #t: TestContext;
  readonly #startMs = Math.ceil(performance.now());
  readonly #stepMs: number;
  #passedMs = 0;

  /**
   * Replaces time until the end of the test.
   * @param stepMs length of a step; with long steps, days pass in seconds
   */
  constructor(t: TestContext, stepMs = STEP_MS) {
    this.#t = t;
    this.#stepMs = stepMs;
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    t.mock.method(performance, 'now', () => this.#startMs + this.#passedMs);
    // Updates modules that have imported single functions.
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.timers.reset();
      syncBuiltinESMExports();
    });
  }

  /** Milliseconds since the start. */
  get nowMs(): number {
    return this.#passedMs;
  }

  /**
   * Lets time pass until the promise settles.
   * @returns the value of the promise
   * @throws the reason of the promise, or Error if it does not settle
   */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settled = () => {
      isSettled = true;
    };
    promise.then(settled, settled);
    const limitMs = this.#passedMs + this.#stepMs * LIMIT_STEPS;
    for (;;) {
      await turn();
      if (isSettled) return promise;
      if (this.#passedMs >= limitMs) throw new Error(`still open after ${limitMs / 1000} s`);
      this.jump(this.#stepMs);
    }
  }

  async pass(ms: number): Promise<void> {
    await this.until(new Promise((resolve) => setTimeout(resolve, ms)));
  }

  /** Advances time at once, like a blocked event loop. */
  jump(ms: number): void {
    this.#passedMs += ms;
    this.#t.mock.timers.tick(ms);
  }
}

/** Runs all pending code that waits for no timer. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
