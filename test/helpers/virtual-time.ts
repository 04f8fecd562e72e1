/**
 * Time that passes only while a test waits, so that a minute passes at once, even on a busy machine. Timers, including those of
 * `node:timers/promises`, and `performance.now()` follow it.
 */
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

const STEP_MS = 10;
/** Ten minutes of the usual steps, longer than any deadline of a run. */
const LIMIT_STEPS = 60_000;

export class VirtualTime {
  readonly #t: TestContext;
  readonly #startMs = Math.ceil(performance.now());
  readonly #stepMs: number;
  #passedMs = 0;

  /** Replaces time until the end of the test. @param stepMs longer steps let days pass in seconds */
  constructor(t: TestContext, stepMs = STEP_MS) {
    this.#t = t;
    this.#stepMs = stepMs;
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    t.mock.method(performance, 'now', () => this.#startMs + this.#passedMs);
    // For modules that imported single functions.
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
   * Lets time pass until the promise settles. @returns its value
   * @throws its reason, or Error if it is still pending after a long time
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

  /** Advances time at once, like a function that blocks. */
  jump(ms: number): void {
    this.#passedMs += ms;
    this.#t.mock.timers.tick(ms);
  }
}

/** Lets everything continue that does not depend on time. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
