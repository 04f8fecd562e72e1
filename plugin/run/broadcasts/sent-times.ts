/** Parses send times in payloads, and checks that the server's clock agrees with this machine's clock. */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';

export interface StampedBroadcast {
  /** Time of the first copy, on CLOCK_MONOTONIC. */
  firstAtUs: number;
  /** Send time in the server's format; undefined if the configured path has no value. */
  sentAt?: string | number | undefined;
  /** When a publisher of the run emitted the event that caused this broadcast. */
  emittedAtUs?: number;
}

/**
 * Allowed difference between the server's clock and this machine's clock, in addition to the resolution of the format.
 */
const MAX_AHEAD_US = 2000;
/** Longest plausible time from the send to the first copy. A longer time means that the server's clock is wrong. */
const MAX_BEHIND_US = 60e6;
/** Coarsest usable resolution of a send time. Whole seconds are too coarse. */
const MAX_RESOLUTION_US = 10_000;

/**
 * Converts the send times in payloads to CLOCK_MONOTONIC.
 * @returns the times, or why they are unusable
 */
export function sentTimes(
  broadcasts: StampedBroadcast[],
  epochOffsetUs: number,
): { atUs: number[] } | { unusable: string } {
  const atUs: number[] = [];
  for (const { firstAtUs, sentAt, emittedAtUs = Number.NEGATIVE_INFINITY } of broadcasts) {
    if (sentAt === undefined) return { unusable: 'some copies have nothing at this path' };
    const instant = parseInstant(sentAt);
    const shown = JSON.stringify(sentAt);
    if (!instant) return { unusable: `${shown} is neither a time since 1970 nor ISO 8601` };
    const { epochUs, resolutionUs } = instant;
    if (resolutionUs > MAX_RESOLUTION_US) return { unusable: `${shown} is in whole seconds` };
    const sentAtUs = epochUs - epochOffsetUs;
    const behindUs = firstAtUs - sentAtUs;
    if (behindUs < -MAX_AHEAD_US - resolutionUs)
      return { unusable: `${shown} is ${span(-behindUs)} after its receipt` };
    const earlyUs = emittedAtUs - sentAtUs;
    if (earlyUs > MAX_AHEAD_US + resolutionUs) {
      return { unusable: `${shown} is ${span(earlyUs)} before a publisher of the run emitted it` };
    }
    if (behindUs > MAX_BEHIND_US) return { unusable: `${shown} is ${span(behindUs)} before its first receipt` };
    atUs.push(Math.min(sentAtUs, firstAtUs));
  }
  return { atUs };
}

/**
 * Required precision of the offset between the system clock and CLOCK_MONOTONIC, in microseconds. The clocks of two
 * machines differ by far more.
 */
const PRECISE_US = 100;
const MAX_TICKS = 20;

/**
 * Measures how far the system clock is ahead of CLOCK_MONOTONIC. `Date.now()` returns whole milliseconds, so both
 * clocks are read alternately until the millisecond changes. If that last reading took too long, waits for the next
 * millisecond.
 */
export function measureEpochOffsetUs(epochMs = Date.now, clockUs = monotonicUs): number {
  let best = { widthUs: Number.POSITIVE_INFINITY, offsetUs: 0 };
  let fromUs = clockUs();
  let ms = epochMs();
  let betweenUs = clockUs();
  for (let ticks = 0; ticks < MAX_TICKS && best.widthUs > PRECISE_US; ) {
    const nextMs = epochMs();
    const untilUs = clockUs();
    if (nextMs !== ms) {
      ticks++;
      const widthUs = untilUs - fromUs;
      if (widthUs < best.widthUs) best = { widthUs, offsetUs: nextMs * 1000 - (fromUs + untilUs) / 2 };
    }
    [fromUs, betweenUs, ms] = [betweenUs, untilUs, nextMs];
  }
  return best.offsetUs;
}

function span(us: number): string {
  const seconds = us / 1e6;
  if (seconds < 1) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 172_800 ? `${(seconds / 3600).toFixed(1)} hours` : `${(seconds / 86_400).toFixed(1)} days`;
}

interface Instant {
  epochUs: number;
  /** Smallest difference that the format of the send time can express. */
  resolutionUs: number;
}

/**
 * Units in which a number may count the time since 1970. The magnitude of the number shows its unit for the years 2001
 * to 5138.
 */
const UNITS = [
  { from: 1e9, toUs: 1e6 },
  { from: 1e12, toUs: 1e3 },
  { from: 1e15, toUs: 1 },
  { from: 1e18, toUs: 1e-3 },
];
const ISO_SECONDS = /T\d\d:\d\d(?::\d\d(?:[.,](\d+))?)?/;

/**
 * Parses a send time: seconds, milliseconds, microseconds or nanoseconds since 1970, or an ISO 8601 date.
 * @returns undefined for any other value
 */
export function parseInstant(value: unknown): Instant | undefined {
  if (typeof value === 'number') return fromNumber(value, Number.isInteger(value));
  if (typeof value !== 'string') return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return fromNumber(Number(value), !value.includes('.'));
  return fromIso(value);
}

function fromNumber(value: number, isWhole: boolean): Instant | undefined {
  const unit = UNITS.find(({ from }) => value >= from && value < from * 100);
  return unit && { epochUs: value * unit.toUs, resolutionUs: isWhole ? Math.max(1, unit.toUs) : 1 };
}

function fromIso(text: string): Instant | undefined {
  const time = ISO_SECONDS.exec(text);
  const epochMs = Date.parse(text);
  if (!time || Number.isNaN(epochMs)) return undefined;
  const fraction = time[1];
  if (fraction === undefined) return { epochUs: epochMs * 1000, resolutionUs: 1e6 };
  const belowMsUs = Number(fraction.padEnd(6, '0').slice(3, 6));
  return { epochUs: epochMs * 1000 + belowMsUs, resolutionUs: Math.max(1, 10 ** (6 - fraction.length)) };
}
