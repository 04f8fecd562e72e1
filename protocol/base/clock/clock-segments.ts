/**
 * Linear interpolation between readings of another clock. A line has at least one reading; readings are in order of
 * time.
 */
import type { ClockReading } from './clock.ts';

export function quickerClockReading(a: ClockReading, b: ClockReading): ClockReading {
  return b.uncertaintyUs < a.uncertaintyUs ? b : a;
}

/** Converts a time of the other clock to this process's clock. */
export function toOwnClockUs(line: ClockReading[], theirUs: number): number {
  const roughUs = theirUs - (line[0] as ClockReading).offsetUs;
  return theirUs - clockOffsetAt(line, theirUs - clockOffsetAt(line, roughUs));
}

/**
 * Returns the offset of the other clock at a time. Before the first and after the last reading, the line is
 * extrapolated only as far as the readings support it.
 */
export function clockOffsetAt(line: ClockReading[], atUs: number): number {
  const segment = clockSegmentAt(line, atUs);
  const [a, b = a] = [line[segment] as ClockReading, line[segment + 1]];
  if (atUs < a.atUs) return extrapolate(line, segment, 1, atUs) ?? a.offsetUs;
  if (atUs > b.atUs) return extrapolate(line, line.length - 1, -1, atUs) ?? b.offsetUs;
  return interpolate(a, b, atUs);
}

/**
 * Returns the index of the first reading of the segment that contains a time. For a time outside the line, it is the
 * first or the last segment.
 */
export function clockSegmentAt(line: ClockReading[], atUs: number): number {
  const before = line.findLastIndex((reading) => reading.atUs <= atUs);
  return Math.max(0, Math.min(before, line.length - 2));
}

/** Returns how far a time is outside the range that the line or its extrapolation covers; 0 if the time is covered. */
export function outsideClockLineUs(line: ClockReading[], atUs: number): number {
  const [first, last] = [line[0] as ClockReading, line.at(-1) as ClockReading];
  if (atUs < first.atUs) return extrapolate(line, 0, 1, atUs) === undefined ? first.atUs - atUs : 0;
  return extrapolate(line, line.length - 1, -1, atUs) === undefined ? atUs - last.atUs : 0;
}

/**
 * Returns the maximum error of a segment: the error of its worse reading plus the bend. The bend is 0 if the segment
 * continues a neighbouring segment in a straight line.
 */
export function clockSegmentError(line: ClockReading[], segment: number): number {
  const [a, b] = [line[segment] as ClockReading, line[segment + 1]];
  if (!b) return a.uncertaintyUs;
  const bendsUs = [
    [extrapolate(line, segment, -1, b.atUs), b.offsetUs] as const,
    [extrapolate(line, segment + 1, 1, a.atUs), a.offsetUs] as const,
  ].flatMap(([extrapolatedUs, actualUs]) => (extrapolatedUs === undefined ? [] : Math.abs(actualUs - extrapolatedUs)));
  const bendUs = bendsUs.length > 0 ? Math.min(...bendsUs) : Math.abs(b.offsetUs - a.offsetUs);
  return Math.max(a.uncertaintyUs, b.uncertaintyUs) + bendUs;
}

/**
 * Extrapolates the line of readings beyond its end. The extrapolation uses a reading on the other side that is at least
 * as far away, so that the error does not grow. Undefined if there is no such reading.
 * @param step direction in which readings are searched: 1 for later readings
 */
function extrapolate(line: ClockReading[], index: number, step: 1 | -1, atUs: number): number | undefined {
  const end = line[index] as ClockReading;
  for (let base = line[index + step], at = index + step; base; at += step, base = line[at]) {
    if (Math.abs(base.atUs - end.atUs) >= Math.abs(atUs - end.atUs)) return interpolate(base, end, atUs);
  }
  return undefined;
}

function interpolate(a: ClockReading, b: ClockReading, atUs: number): number {
  if (a.atUs === b.atUs) return a.offsetUs;
  return a.offsetUs + ((b.offsetUs - a.offsetUs) * (atUs - a.atUs)) / (b.atUs - a.atUs);
}
