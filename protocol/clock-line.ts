/**
 * Another host's monotonic clock against this one, over a whole run. It is read again and again by round trips: the quickest
 * of each interval counts, and straight lines between these give the offset at any time.
 */

/** How far the other clock is ahead of ours, and the largest possible error of that. */
export interface ClockReading {
  /** When it was read, on our clock: the middle of the round trip. */
  atUs: number;
  offsetUs: number;
  /** Half of the round trip. */
  uncertaintyUs: number;
}

const INTERVAL_US = 10_000_000;
/** Processes of one kernel read one clock, unless somebody moved it (time namespaces, virtual machines' snapshots). */
export const SAME_CLOCK_US = 1000;

export class ClockLine {
  readonly #sharesKernel: boolean;
  /** The quickest of each interval, in the order of time. */
  readonly #readings: ClockReading[] = [];
  /** Offset and bound of earlier readings stay: their largest error is part of the bound. */
  #largestBendUs = 0;

  /** @param sharesKernel the other process runs on this kernel, so that a small offset is only the reading's error */
  constructor(sharesKernel: boolean) {
    this.#sharesKernel = sharesKernel;
  }

  add(read: ClockReading): void {
    const isSame = this.#sharesKernel && Math.abs(read.offsetUs) <= read.uncertaintyUs + SAME_CLOCK_US;
    const reading = isSame ? { ...read, offsetUs: 0, uncertaintyUs: 0 } : read;
    const last = this.#readings.at(-1);
    if (last && intervalOf(last) === intervalOf(reading)) {
      if (reading.uncertaintyUs < last.uncertaintyUs) this.#readings[this.#readings.length - 1] = reading;
      return;
    }
    this.#largestBendUs = Math.max(this.#largestBendUs, this.#lastBendUs());
    this.#readings.push(reading);
  }

  /** Of our clock to the other's. */
  toTheirs(ourUs: number): number {
    return ourUs + this.offsetAt(ourUs);
  }

  toOurs(theirUs: number): number {
    const [first] = this.#readings;
    return theirUs - this.offsetAt(theirUs - (first?.offsetUs ?? 0));
  }

  /** @returns how far the other clock is ahead at a time of ours, in microseconds; 0 before the first reading */
  offsetAt(ourUs: number): number {
    const after = this.#readings.findIndex(({ atUs }) => atUs >= ourUs);
    const next = this.#readings[after];
    if (next === undefined) return this.#readings.at(-1)?.offsetUs ?? 0;
    const before = this.#readings[after - 1];
    return before === undefined ? next.offsetUs : between(before, next, ourUs);
  }

  /** The largest possible error of a converted time, as far as the readings show: of a single one, and of the lines between. */
  get boundUs(): number {
    const largest = Math.max(...this.#readings.map(({ uncertaintyUs }) => uncertaintyUs));
    return this.#readings.length === 0 ? Number.POSITIVE_INFINITY : largest + this.#bendUs();
  }

  #bendUs(): number {
    return Math.max(this.#largestBendUs, this.#lastBendUs());
  }

  /** How far the reading before the last one is off the line between its neighbours. */
  #lastBendUs(): number {
    const [a, b, c] = this.#readings.slice(-3);
    return a && b && c ? Math.abs(b.offsetUs - between(a, c, b.atUs)) : 0;
  }
}

function between(a: ClockReading, b: ClockReading, atUs: number): number {
  return a.offsetUs + ((b.offsetUs - a.offsetUs) * (atUs - a.atUs)) / (b.atUs - a.atUs);
}

function intervalOf({ atUs }: ClockReading): number {
  return Math.floor(atUs / INTERVAL_US);
}
