/**
 * Offset of another host's monotonic clock during a run, measured repeatedly by round trips. Only the quickest reading
 * of each interval is kept. The offset at any time is interpolated linearly between these readings. If two readings
 * differ by more than their errors and the maximum drift, the other clock has jumped, and a new line begins.
 */
import type { ClockReading } from './clock.ts';
import {
  clockOffsetAt,
  clockSegmentAt,
  clockSegmentError,
  outsideClockLineUs,
  quickerClockReading,
  toOwnClockUs,
} from './clock-segments.ts';

const INTERVAL_US = 10_000_000;
/**
 * Maximum offset in microseconds that counts as 0 if the other process runs on the same kernel. Time namespaces and
 * snapshots of virtual machines shift clocks by more.
 */
export const SAME_CLOCK_US = 1000;
/** Maximum drift between the clocks of two hosts, as a ratio. */
const MAX_DRIFT = 500e-6;

/** Jump of the other clock between two readings. Its time is known only as a range on this process's clock. */
interface Jump {
  afterUs: number;
  beforeUs: number;
  /** Maximum size of the jump in microseconds, forwards or backwards. */
  byUs: number;
}

export class ClockLine {
  readonly #sharesKernel: boolean;
  /** Quickest readings of each interval, in order. Each jump starts a new line. */
  readonly #lines: ClockReading[][] = [];
  readonly #jumps: Jump[] = [];
  /**
   * Possible range of the offset after all clock readings so far. `atUs` is the time of the last reading that narrowed
   * the range.
   */
  #range = { lowUs: Number.NEGATIVE_INFINITY, highUs: Number.POSITIVE_INFINITY, atUs: 0 };
  #lastAtUs = Number.NEGATIVE_INFINITY;
  #intervalEndsUs = Number.NEGATIVE_INFINITY;
  /**
   * Quickest reading of the current interval. It is not yet part of the line, because a slow reading would be worse
   * than extrapolation.
   */
  #candidate: { sinceUs: number; reading: ClockReading } | undefined;
  #isNextKept = false;

  /**
   * @param sharesKernel whether the other process runs on this kernel, so that a small offset can only be a measurement
   * error
   */
  constructor(sharesKernel: boolean) {
    this.#sharesKernel = sharesKernel;
  }

  /** Adds a clock reading. Ignores a reading that is older than the last one. */
  add(read: ClockReading): void {
    if (read.atUs < this.#lastAtUs) return;
    const isSame = this.#sharesKernel && Math.abs(read.offsetUs) <= read.uncertaintyUs + SAME_CLOCK_US;
    const reading = isSame ? { ...read, offsetUs: 0, uncertaintyUs: 0 } : read;
    const jumped = this.#narrow(reading);
    this.#lastAtUs = reading.atUs;
    const line = this.#lines.at(-1);
    if (!line || jumped) {
      this.#lines.push([reading]);
      this.#begin(reading);
      return;
    }
    this.#grow(line);
    if (reading.atUs < this.#intervalEndsUs) {
      if (this.#candidate) this.#candidate.reading = quickerClockReading(this.#candidate.reading, reading);
      else line.push(quickerClockReading(line.pop() as ClockReading, reading));
    } else if (this.#isNextKept) {
      line.push(reading);
      this.#begin(reading);
    } else {
      this.#begin(reading);
      this.#candidate = { sinceUs: reading.atUs, reading };
    }
    this.#grow(line);
  }

  /**
   * Starts a new interval with the next reading. The quickest reading of the old interval is kept even if the interval
   * was short.
   */
  separate(): void {
    this.#intervalEndsUs = Number.NEGATIVE_INFINITY;
    this.#candidate = undefined;
    this.#isNextKept = true;
  }

  /** Whether all readings show that the other clock is the same as this process's clock. */
  get isOurs(): boolean {
    return this.#lines.length > 0 && this.#lines.flat().every(({ uncertaintyUs }) => uncertaintyUs === 0);
  }

  toTheirs(ourUs: number): number {
    return ourUs + this.offsetAt(ourUs);
  }

  toOurs(theirUs: number): number {
    for (let index = this.#lines.length - 1; index > 0; index--) {
      const ourUs = toOwnClockUs(this.#lines[index] as ClockReading[], theirUs);
      if (ourUs >= (this.#jumps[index - 1] as Jump).afterUs) return ourUs;
    }
    const [first] = this.#lines;
    return first ? toOwnClockUs(first, theirUs) : theirUs;
  }

  /**
   * Returns the offset between the other clock and this process's clock in microseconds. Positive if the other clock is
   * ahead; 0 without readings.
   * @param ourUs time on this process's clock
   */
  offsetAt(ourUs: number): number {
    const line = this.#lineAt(ourUs);
    return line ? clockOffsetAt(line, ourUs) : 0;
  }

  /**
   * Returns the maximum error of a time that is converted between the clocks at this moment. It includes half a round
   * trip, the bend of the line, and drift beyond the ends of the line. Near a jump, it includes the size of the jump,
   * because its exact time is unknown.
   */
  boundAt(ourUs: number): number {
    const line = this.#lineAt(ourUs);
    if (!line) return Number.POSITIVE_INFINITY;
    const driftUs = this.isOurs ? 0 : outsideClockLineUs(line, ourUs) * MAX_DRIFT;
    return clockSegmentError(line, clockSegmentAt(line, ourUs)) + driftUs + this.jumpUs(ourUs, ourUs);
  }

  /** Maximum of `boundAt` over all times: the largest possible error of a converted time. */
  get boundUs(): number {
    if (this.#lines.length === 0) return Number.POSITIVE_INFINITY;
    const errorsUs = this.#lines.flatMap((line) => line.map((_, index) => clockSegmentError(line, index)));
    return errorsUs.reduce((a, b) => Math.max(a, b)) + this.jumpUs();
  }

  /** Returns the maximum error if the clock has drifted at the maximum rate since the nearest reading. */
  worstAt(ourUs: number): number {
    const line = this.#lineAt(ourUs) ?? [];
    const errorsUs = line.map(({ atUs, uncertaintyUs }) => uncertaintyUs + Math.abs(ourUs - atUs) * MAX_DRIFT);
    return this.isOurs ? 0 : errorsUs.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  }

  /** Returns the sum of all clock jumps that can affect times in this range. */
  jumpUs(fromUs = Number.NEGATIVE_INFINITY, toUs = Number.POSITIVE_INFINITY): number {
    return this.#jumps
      .filter(({ afterUs, beforeUs, byUs }) => fromUs <= beforeUs + byUs && toUs >= afterUs - byUs)
      .reduce((sum, { byUs }) => sum + byUs, 0);
  }

  #begin({ atUs }: ClockReading): void {
    this.#intervalEndsUs = (Math.floor(atUs / INTERVAL_US) + 1) * INTERVAL_US;
    this.#candidate = undefined;
    this.#isNextKept = false;
  }

  /** Adds the candidate to the line if half of its interval is over, or if it is as quick as the previous reading. */
  #grow(line: ClockReading[]): void {
    if (!this.#candidate) return;
    const { sinceUs, reading } = this.#candidate;
    const isQuick = reading.uncertaintyUs <= (line.at(-1) as ClockReading).uncertaintyUs;
    if (!isQuick && this.#lastAtUs - sinceUs < INTERVAL_US / 2) return;
    line.push(reading);
    this.#candidate = undefined;
  }

  /**
   * Narrows the range of possible offsets.
   * @returns true if the reading is outside the range, so the clock has jumped
   */
  #narrow({ atUs, offsetUs, uncertaintyUs }: ClockReading): boolean {
    const [lowUs, highUs] = [offsetUs - uncertaintyUs, offsetUs + uncertaintyUs];
    const { atUs: narrowedAtUs, ...previous } = this.#range;
    const driftUs = (atUs - this.#lastAtUs) * MAX_DRIFT;
    const possible = { lowUs: previous.lowUs - driftUs, highUs: previous.highUs + driftUs };
    const jumped = lowUs > possible.highUs || highUs < possible.lowUs;
    if (jumped) {
      const byUs = Math.max(highUs - possible.lowUs, possible.highUs - lowUs);
      this.#jumps.push({ afterUs: narrowedAtUs, beforeUs: atUs, byUs });
      this.#range = { lowUs, highUs, atUs };
      return true;
    }
    const narrows = lowUs > possible.lowUs || highUs < possible.highUs;
    this.#range = {
      lowUs: Math.max(lowUs, possible.lowUs),
      highUs: Math.min(highUs, possible.highUs),
      atUs: narrows ? atUs : narrowedAtUs,
    };
    return false;
  }

  /**
   * Returns the line of readings that covers this time. After a jump of the clock, the new line begins half-way between
   * the readings around the jump.
   */
  #lineAt(ourUs: number): ClockReading[] | undefined {
    const jump = this.#jumps.findLastIndex(({ afterUs, beforeUs }) => (afterUs + beforeUs) / 2 <= ourUs);
    return this.#lines[jump + 1];
  }
}

/** Converts times from this process's clock to another clock during a run, and records their largest possible error. */
export class ConvertingClock {
  readonly #line: ClockLine;
  #appliedBoundUs = 0;

  /** @param line readings of the other clock, to which more are added later */
  constructor(line: ClockLine) {
    this.#line = line;
  }

  /**
   * Maximum error of all times that were converted so far, and of a time converted now. Later readings cannot correct a
   * converted time.
   */
  get boundUs(): number {
    return Math.max(this.#appliedBoundUs, this.#line.boundUs);
  }

  get offsetUs(): number {
    return this.#line.offsetAt(Number.POSITIVE_INFINITY);
  }

  /**
   * Converts a time from this process's clock to the other clock.
   * @param atUs time on this process's clock
   */
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
