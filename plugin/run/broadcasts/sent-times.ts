/** Whether the times in the payload can be used: does the clock that made them agree with ours? */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';

/** A broadcast whose payload has a time. */
export interface Stamped {
  /** On CLOCK_MONOTONIC. */
  firstAtUs: number;
  /** As the server writes it; undefined where nothing stood at the path. */
  sentAt?: string | number | undefined;
  /** When a publisher of the run provoked it, where that is known: no server sends it before. */
  emittedAtUs?: number;
}

/** Nothing can be received before it was sent; the two clocks may differ by this, and by what the notation leaves out. */
const MAX_AHEAD_US = 2000;
/** A first receiver that gets a broadcast later than that: rather the clock is wrong. */
const MAX_BEHIND_US = 60e6;
/** Times in whole seconds tell nothing of milliseconds. */
const MAX_RESOLUTION_US = 10_000;

/** @returns the time of each on CLOCK_MONOTONIC, or why they tell nothing */
export function sentTimes(broadcasts: Stamped[], epochOffsetUs: number): { atUs: number[] } | { unusable: string } {
  const atUs: number[] = [];
  for (const { firstAtUs, sentAt, emittedAtUs = Number.NEGATIVE_INFINITY } of broadcasts) {
    if (sentAt === undefined) return { unusable: 'some copies have nothing at this path' };
    const instant = instantOf(sentAt);
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

/** Precision of the moment at which the system's clock ticks; two clocks may differ by far more. */
const PRECISE_US = 100;
const MAX_TICKS = 20;

/**
 * The system's clock shows whole milliseconds, so the moment at which it goes on is taken: after the reading before the last one
 * that showed the old millisecond, before the reading that follows the first one that showed the new. A process that was off the
 * CPU anywhere in between looks at the next tick.
 * @returns how far the system's clock is ahead of CLOCK_MONOTONIC, now
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

/** Times as servers write them into their messages: seconds, milliseconds or microseconds since 1970, or ISO 8601. */
interface Instant {
  epochUs: number;
  /** What the notation can tell apart. */
  resolutionUs: number;
}

/** By magnitude; from 2001 to 5138. */
const UNITS = [
  { from: 1e9, toUs: 1e6 },
  { from: 1e12, toUs: 1e3 },
  { from: 1e15, toUs: 1 },
  { from: 1e18, toUs: 1e-3 },
];
const ISO_SECONDS = /T\d\d:\d\d(?::\d\d(?:[.,](\d+))?)?/;

/** @returns undefined if it is no time since the Unix epoch, such as that of a monotonic clock */
export function instantOf(value: unknown): Instant | undefined {
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
  // A Date has whole milliseconds.
  const belowMsUs = Number(fraction.padEnd(6, '0').slice(3, 6));
  return { epochUs: epochMs * 1000 + belowMsUs, resolutionUs: Math.max(1, 10 ** (6 - fraction.length)) };
}
