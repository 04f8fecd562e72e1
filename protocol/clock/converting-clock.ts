/** Converts times while a run goes on, and keeps how wrong any of them can be. */
import type { ClockLine } from './clock-line.ts';

export class ConvertingClock {
  readonly #line: ClockLine;
  #appliedBoundUs = 0;

  /** @param line which goes on growing */
  constructor(line: ClockLine) {
    this.#line = line;
  }

  /**
   * The largest possible error of all times that were converted so far, and of one that would be now. A later reading can know
   * better, but comes too late for what has been converted.
   */
  get boundUs(): number {
    return Math.max(this.#appliedBoundUs, this.#line.boundUs);
  }

  get offsetUs(): number {
    return this.#line.offsetAt(Number.POSITIVE_INFINITY);
  }

  /** @param atUs on our clock */
  toTheirs(atUs: number): number {
    this.#note(atUs);
    return this.#line.toTheirs(atUs);
  }

  toOurs(theirUs: number): number {
    const atUs = this.#line.toOurs(theirUs);
    this.#note(atUs);
    return atUs;
  }

  #note(atUs: number): void {
    this.#appliedBoundUs = Math.max(this.#appliedBoundUs, this.#line.boundAt(atUs));
  }
}
