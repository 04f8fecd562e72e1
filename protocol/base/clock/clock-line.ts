/**
 * Offset of another host's monotonic clock over a whole run, measured repeatedly by round trips. The quickest reading of each interval is
 * kept, and linear interpolation between these gives the offset at any time. If readings differ by more than their errors and the largest
 * drift allow, the other clock has jumped, and a new line begins.
 */
import type { ClockReading } from './clock.ts';
import { errorOf, offsetOn, quickerReading, segmentAt, toOurTime, uncoveredUs } from './clock-segments.ts';

const INTERVAL_US = 10_000_000;
/**
 * Largest offset at which a process of the same kernel counts as having the same clock. Time namespaces and snapshots of virtual machines
 * move clocks by more.
 */
export const SAME_CLOCK_US = 1000;
/** Largest drift between the clocks of two hosts. */
const MAX_DRIFT = 500e-6;

/** A jump of the other clock between two readings; times on our clock. */
interface Jump {
  afterUs: number;
  beforeUs: number;
  /** Largest possible size, forwards or backwards. */
  byUs: number;
}

export class ClockLine {
  readonly #sharesKernel: boolean;
  /** Quickest readings of each interval, in order; a new line begins after each jump. */
  readonly #lines: ClockReading[][] = [];
  readonly #jumps: Jump[] = [];
  /** Possible offsets according to all readings so far; `atUs` is the time of the last reading that narrowed them. */
  #range = { lowUs: Number.NEGATIVE_INFINITY, highUs: Number.POSITIVE_INFINITY, atUs: 0 };
  #lastAtUs = Number.NEGATIVE_INFINITY;
  #intervalEndsUs = Number.NEGATIVE_INFINITY;
  /** Quickest reading of the current interval, not yet in the line: a slow reading would be worse than extrapolation. */
  #candidate: { sinceUs: number; reading: ClockReading } | undefined;
  #isNextKept = false;

  /** @param sharesKernel whether the other process runs on this kernel, so that a small offset is only the reading's error */
  constructor(sharesKernel: boolean) {
    this.#sharesKernel = sharesKernel;
  }

  /** Adds a reading. Ignores readings older than the last one. */
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
      if (this.#candidate) this.#candidate.reading = quickerReading(this.#candidate.reading, reading);
      else line.push(quickerReading(line.pop() as ClockReading, reading));
    } else if (this.#isNextKept) {
      line.push(reading);
      this.#begin(reading);
    } else {
      this.#begin(reading);
      this.#candidate = { sinceUs: reading.atUs, reading };
    }
    this.#grow(line);
  }

  /** Begins a new interval with the next reading; its quickest reading is kept even if the interval is short. */
  separate(): void {
    this.#intervalEndsUs = Number.NEGATIVE_INFINITY;
    this.#candidate = undefined;
    this.#isNextKept = true;
  }

  /** Whether all readings show that the other clock is our own. */
  get isOurs(): boolean {
    return this.#lines.length > 0 && this.#lines.flat().every(({ uncertaintyUs }) => uncertaintyUs === 0);
  }

  toTheirs(ourUs: number): number {
    return ourUs + this.offsetAt(ourUs);
  }

  toOurs(theirUs: number): number {
    for (let index = this.#lines.length - 1; index > 0; index--) {
      const ourUs = toOurTime(this.#lines[index] as ClockReading[], theirUs);
      if (ourUs >= (this.#jumps[index - 1] as Jump).afterUs) return ourUs;
    }
    const [first] = this.#lines;
    return first ? toOurTime(first, theirUs) : theirUs;
  }

  /** Returns how far the other clock is ahead at a time of our clock, in microseconds; 0 without readings. */
  offsetAt(ourUs: number): number {
    const line = this.#lineAt(ourUs);
    return line ? offsetOn(line, ourUs) : 0;
  }

  /**
   * Returns the largest possible error of a time converted at this time: half a round trip, the bend of the line, and drift beyond the
   * line's ends. Adds the size of a nearby jump, because its exact time is unknown.
   */
  boundAt(ourUs: number): number {
    const line = this.#lineAt(ourUs);
    if (!line) return Number.POSITIVE_INFINITY;
    const driftUs = this.isOurs ? 0 : uncoveredUs(line, ourUs) * MAX_DRIFT;
    return errorOf(line, segmentAt(line, ourUs)) + driftUs + this.jumpUs(ourUs, ourUs);
  }

  /** Largest `boundAt` of any time. */
  get boundUs(): number {
    if (this.#lines.length === 0) return Number.POSITIVE_INFINITY;
    const errorsUs = this.#lines.flatMap((line) => line.map((_, index) => errorOf(line, index)));
    return errorsUs.reduce((a, b) => Math.max(a, b)) + this.jumpUs();
  }

  /** Returns the error if the clock has drifted at the largest rate since its nearest reading. */
  worstAt(ourUs: number): number {
    const line = this.#lineAt(ourUs) ?? [];
    const errorsUs = line.map(({ atUs, uncertaintyUs }) => uncertaintyUs + Math.abs(ourUs - atUs) * MAX_DRIFT);
    return this.isOurs ? 0 : errorsUs.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  }

  /** Returns the sum of the jumps that can affect times in this range. */
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

  /** Adds the candidate to the line, once its interval is half over or if it is as quick as the previous reading. */
  #grow(line: ClockReading[]): void {
    if (!this.#candidate) return;
    const { sinceUs, reading } = this.#candidate;
    const isQuick = reading.uncertaintyUs <= (line.at(-1) as ClockReading).uncertaintyUs;
    if (!isQuick && this.#lastAtUs - sinceUs < INTERVAL_US / 2) return;
    line.push(reading);
    this.#candidate = undefined;
  }

  /** Narrows the possible offsets. @returns true if the reading is outside of them, so the clock has jumped */
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

  /** Returns the line at this time; a new line begins half-way between the readings before and after a jump. */
  #lineAt(ourUs: number): ClockReading[] | undefined {
    const jump = this.#jumps.findLastIndex(({ afterUs, beforeUs }) => (afterUs + beforeUs) / 2 <= ourUs);
    return this.#lines[jump + 1];
  }
}

/** Converts times during a run, and records their largest possible error. */
export class ConvertingClock {
  readonly #line: ClockLine;
  #appliedBoundUs = 0;

  /** @param line line that still grows */
  constructor(line: ClockLine) {
    this.#line = line;
  }

  /** Largest possible error of all times converted so far, and of one converted now. Later readings cannot correct converted times. */
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
