/** Whether the times in the payload can be used: does the clock that made them agree with ours? */
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { instantOf } from './instant.ts';

/** A broadcast whose payload has a time. */
export interface Stamped {
  /** On CLOCK_MONOTONIC. */
  firstAtUs: number;
  /** As the server writes it; undefined where nothing stood at the path. */
  sentAt: string | number | undefined;
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
    if (!instant) return { unusable: `${shown} is no time since 1970, and not ISO 8601` };
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

/** @returns how far the system's clock is ahead of CLOCK_MONOTONIC, now */
export function measureEpochOffsetUs(): number {
  // The clock shows whole milliseconds: waits for the next one to begin.
  const before = Date.now();
  let now = before;
  while (now === before) now = Date.now();
  return now * 1000 - monotonicUs();
}

function span(us: number): string {
  const seconds = us / 1e6;
  if (seconds < 1) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 172_800 ? `${(seconds / 3600).toFixed(1)} hours` : `${(seconds / 86_400).toFixed(1)} days`;
}
