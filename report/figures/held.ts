/** Computes how many connections a run held, and for how long. */
import type { Result } from '../../protocol/result/result.ts';
import { countText, decimalsText, integerText } from '../text/format.ts';

/**
 * Returns the number of connections that stayed open during all broadcasts. If none had to stay open, or if they were
 * not counted, the peak is returned.
 */
export function heldConnections({ held, peak }: Result['connections']): number {
  return held ?? peak;
}

/**
 * Returns the seconds from the end of the last ramp to the disconnect. Null if no connection was held until then, or if
 * held connections were not counted.
 */
export function heldSeconds({ connections: { held }, stages }: Pick<Result, 'connections' | 'stages'>): number | null {
  const full = stages[stages.findLastIndex(({ name }) => name === 'ramp') + 1];
  const released = stages.find(({ name }) => name === 'disconnect');
  return !held || !full || !released ? null : released.t - full.t;
}

/** Returns whether some connections missed broadcasts because they had closed. */
export function hasClosedReceivers(delivery: NonNullable<Result['delivery']>): boolean {
  const { coverage, coverageOfTarget } = delivery;
  return coverage !== null && coverageOfTarget !== null && coverageOfTarget < coverage;
}

/**
 * Returns whether virtual users disconnected by themselves during the measurement. False for runs that measure memory
 * over time.
 */
export function hasLeavingUsers({ memory: { overTime } }: Pick<Result, 'memory'>): boolean {
  return overTime?.kind === 'load';
}

/**
 * Returns the sizes of the waves. A connection that closes before the peak of its wave is read is missing from the
 * reading, so it is added.
 */
function waveSizes({ peaks, readings }: NonNullable<Result['memory']['overTime']>): number[] {
  const isOfEach = peaks.length === readings.length;
  return peaks.map(({ connections }, index) => {
    const left = isOfEach ? (readings[index]?.gone ?? 0) - (readings[index - 1]?.gone ?? 0) : 0;
    return Math.max(connections, left);
  });
}

/**
 * Returns `6 waves of 10,000 connections`, `8 waves of 2,500 to 10,000 connections`, or `1,512 connections at once,
 * 29,000 in all, open for 6.0 s on average`. Null if the run held its connections.
 */
export function turnoverText({ memory: { overTime }, connections }: Result): string | null {
  const { peak, opened, meanStaySeconds } = connections;
  if (!overTime) return null;
  if (overTime.kind === 'waves') {
    const sizes = waveSizes(overTime);
    const range = [...new Set([Math.min(peak, ...sizes), Math.max(...sizes)])].filter(Number.isFinite);
    return `${countText(sizes.length, 'wave')} of ${range.map(integerText).join(' to ')} connections`;
  }
  const stay = meanStaySeconds === null ? '' : `, open for ${decimalsText(meanStaySeconds, 1)} s on average`;
  return `${integerText(peak)} connections at once, ${integerText(opened)} in all${stay}`;
}
