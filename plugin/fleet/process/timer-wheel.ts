/** Calls back for thousands of waiting items from one timer: those whose time falls into the same step come together. */

const STEP_MS = 10;

export class TimerWheel<T> {
  readonly #onDue: (item: T) => void;
  /** By step. */
  readonly #waiting = new Map<number, T[]>();
  /** The last one whose items were called back. */
  #step = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param onDue called once for each item; it may add others */
  constructor(onDue: (item: T) => void) {
    this.#onDue = onDue;
  }

  add(item: T, delayMs: number): void {
    if (this.#timer === undefined) {
      this.#step = stepNow();
      this.#timer = setInterval(() => this.#advance(), STEP_MS);
    }
    const step = Math.max(this.#step + 1, Math.ceil((performance.now() + delayMs) / STEP_MS));
    const items = this.#waiting.get(step);
    if (items) items.push(item);
    else this.#waiting.set(step, [item]);
  }

  #advance(): void {
    const now = stepNow();
    while (this.#step < now) {
      const items = this.#waiting.get(++this.#step);
      if (items === undefined) continue;
      this.#waiting.delete(this.#step);
      for (const item of items) this.#onDue(item);
    }
    if (this.#waiting.size === 0) this.close();
  }

  /** Forgets what is waiting. Idempotent. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#waiting.clear();
  }
}

function stepNow(): number {
  return Math.floor(performance.now() / STEP_MS);
}
