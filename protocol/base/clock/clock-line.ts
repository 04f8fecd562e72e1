/**
 * Another host's monotonic clock against this one, over a whole run. It is read again and again by round trips: the quickest
 * of each interval counts, and straight lines between these give the offset at any time. Where readings differ by more than
 * their errors and any drift explain, the other clock has jumped, and the lines begin anew.
 */
import type { ClockReading } from './clock-reading.ts';
import { errorOf, offsetOn, ofOurs, quicker, segmentAt, unledUs } from './clock-segments.ts';

const INTERVAL_US = 10_000_000;
/** Processes of one kernel read one clock, unless somebody moved it (time namespaces, virtual machines' snapshots). */
export const SAME_CLOCK_US = 1000;
/** Clocks of two hosts drift apart by no more. */
const MAX_DRIFT = 500e-6;

/** Between two readings, on our clock. */
interface Jump {
  afterUs: number;
  beforeUs: number;
  /** At most, forwards or backwards. */
  byUs: number;
}

export class ClockLine {
  readonly #sharesKernel: boolean;
  /** The quickest of each interval, in the order of time; other ones after each jump. */
  readonly #lines: ClockReading[][] = [];
  readonly #jumps: Jump[] = [];
  /** Where the offset can be by all readings so far, the last of which that made this narrower was at `atUs`. */
  #range = { lowUs: Number.NEGATIVE_INFINITY, highUs: Number.POSITIVE_INFINITY, atUs: 0 };
  #lastAtUs = Number.NEGATIVE_INFINITY;
  #intervalEndsUs = Number.NEGATIVE_INFINITY;
  /** The quickest of an interval that has just begun: slow ones say less than the line does. */
  #young: { sinceUs: number; reading: ClockReading } | undefined;
  #nextCounts = false;

  /** @param sharesKernel the other process runs on this kernel, so that a small offset is only the reading's error */
  constructor(sharesKernel: boolean) {
    this.#sharesKernel = sharesKernel;
  }

  /** Readings older than the last one are ignored. */
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
      if (this.#young) this.#young.reading = quicker(this.#young.reading, reading);
      else line.push(quicker(line.pop() as ClockReading, reading));
    } else if (this.#nextCounts) {
      line.push(reading);
      this.#begin(reading);
    } else {
      this.#begin(reading);
      this.#young = { sinceUs: reading.atUs, reading };
    }
    this.#grow(line);
  }

  /** The next reading begins an interval, the quickest of which counts however short it is. */
  separate(): void {
    this.#intervalEndsUs = Number.NEGATIVE_INFINITY;
    this.#young = undefined;
    this.#nextCounts = true;
  }

  /** All readings show our own clock. */
  get isOurs(): boolean {
    return this.#lines.length > 0 && this.#lines.flat().every(({ uncertaintyUs }) => uncertaintyUs === 0);
  }

  toTheirs(ourUs: number): number {
    return ourUs + this.offsetAt(ourUs);
  }

  toOurs(theirUs: number): number {
    for (let index = this.#lines.length - 1; index > 0; index--) {
      const ourUs = ofOurs(this.#lines[index] as ClockReading[], theirUs);
      if (ourUs >= (this.#jumps[index - 1] as Jump).afterUs) return ourUs;
    }
    const [first] = this.#lines;
    return first ? ofOurs(first, theirUs) : theirUs;
  }

  /** @returns how far the other clock is ahead at a time of ours, in microseconds; 0 before the first reading */
  offsetAt(ourUs: number): number {
    const line = this.#lineAt(ourUs);
    return line ? offsetOn(line, ourUs) : 0;
  }

  /**
   * The largest possible error of a time converted there, as far as the readings show: half of a round trip, as much as the
   * lines bend, and any drift since a reading that has no other one beside it. Near a jump, before and after it
   * look alike, and all of it counts.
   */
  boundAt(ourUs: number): number {
    const line = this.#lineAt(ourUs);
    if (!line) return Number.POSITIVE_INFINITY;
    const driftUs = this.isOurs ? 0 : unledUs(line, ourUs) * MAX_DRIFT;
    return errorOf(line, segmentAt(line, ourUs)) + driftUs + this.jumpUs(ourUs, ourUs);
  }

  /** The largest `boundAt` of any time. */
  get boundUs(): number {
    if (this.#lines.length === 0) return Number.POSITIVE_INFINITY;
    const errorsUs = this.#lines.flatMap((line) => line.map((_, index) => errorOf(line, index)));
    return errorsUs.reduce((a, b) => Math.max(a, b)) + this.jumpUs();
  }

  /** If it has drifted as fast as clocks can since it was read; without a later reading, that is unknown. */
  worstAt(ourUs: number): number {
    const line = this.#lineAt(ourUs) ?? [];
    const errorsUs = line.map(({ atUs, uncertaintyUs }) => uncertaintyUs + Math.abs(ourUs - atUs) * MAX_DRIFT);
    return this.isOurs ? 0 : errorsUs.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  }

  /** @returns the sum of the jumps that times between these two may be off by */
  jumpUs(fromUs = Number.NEGATIVE_INFINITY, toUs = Number.POSITIVE_INFINITY): number {
    return this.#jumps
      .filter(({ afterUs, beforeUs, byUs }) => fromUs <= beforeUs + byUs && toUs >= afterUs - byUs)
      .reduce((sum, { byUs }) => sum + byUs, 0);
  }

  #begin({ atUs }: ClockReading): void {
    this.#intervalEndsUs = (Math.floor(atUs / INTERVAL_US) + 1) * INTERVAL_US;
    this.#young = undefined;
    this.#nextCounts = false;
  }

  /** By the quickest of an interval, when there have been enough, or it is as quick as the one before. */
  #grow(line: ClockReading[]): void {
    if (!this.#young) return;
    const { sinceUs, reading } = this.#young;
    const isQuick = reading.uncertaintyUs <= (line.at(-1) as ClockReading).uncertaintyUs;
    if (!isQuick && this.#lastAtUs - sinceUs < INTERVAL_US / 2) return;
    line.push(reading);
    this.#young = undefined;
  }

  /** @returns whether the reading is beyond all that was possible, so that the clock must have jumped */
  #narrow({ atUs, offsetUs, uncertaintyUs }: ClockReading): boolean {
    const [lowUs, highUs] = [offsetUs - uncertaintyUs, offsetUs + uncertaintyUs];
    const { atUs: narrowedAtUs, ...before } = this.#range;
    const driftUs = (atUs - this.#lastAtUs) * MAX_DRIFT;
    const possible = { lowUs: before.lowUs - driftUs, highUs: before.highUs + driftUs };
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

  /** Half-way between the two readings, before and after a jump. */
  #lineAt(ourUs: number): ClockReading[] | undefined {
    const jump = this.#jumps.findLastIndex(({ afterUs, beforeUs }) => (afterUs + beforeUs) / 2 <= ourUs);
    return this.#lines[jump + 1];
  }
}

/** Converts times while a run goes on, and keeps how wrong any of them can be. */
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
