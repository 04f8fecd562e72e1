/** The straight lines between readings of another clock, in the order of time. A line has at least one reading. */
import type { ClockReading } from './clock-reading.ts';

export function quicker(a: ClockReading, b: ClockReading): ClockReading {
  return b.uncertaintyUs < a.uncertaintyUs ? b : a;
}

/** @returns a time of the other clock on ours */
export function ofOurs(line: ClockReading[], theirUs: number): number {
  const roughUs = theirUs - (line[0] as ClockReading).offsetUs;
  return theirUs - offsetOn(line, theirUs - offsetOn(line, roughUs));
}

/** Beyond its ends, the line goes on as far as other readings tell where it leads. */
export function offsetOn(line: ClockReading[], atUs: number): number {
  const segment = segmentAt(line, atUs);
  const [a, b = a] = [line[segment] as ClockReading, line[segment + 1]];
  if (atUs < a.atUs) return beyond(line, segment, 1, atUs) ?? a.offsetUs;
  if (atUs > b.atUs) return beyond(line, line.length - 1, -1, atUs) ?? b.offsetUs;
  return along(a, b, atUs);
}

/** @returns the index of the reading that begins it: the first or last segment for a time outside */
export function segmentAt(line: ClockReading[], atUs: number): number {
  const before = line.findLastIndex((reading) => reading.atUs <= atUs);
  return Math.max(0, Math.min(before, line.length - 2));
}

/** @returns how far a time is before the first reading, or after the last one; 0 where other readings tell where the line leads */
export function unledUs(line: ClockReading[], atUs: number): number {
  const [first, last] = [line[0] as ClockReading, line.at(-1) as ClockReading];
  if (atUs < first.atUs) return beyond(line, 0, 1, atUs) === undefined ? first.atUs - atUs : 0;
  return beyond(line, line.length - 1, -1, atUs) === undefined ? atUs - last.atUs : 0;
}

/** Error of a segment: that of its worse reading, plus its distance from the lines on both sides; 0 if it continues one of them. */
export function errorOf(line: ClockReading[], segment: number): number {
  const [a, b] = [line[segment] as ClockReading, line[segment + 1]];
  if (!b) return a.uncertaintyUs;
  const bendsUs = [
    [beyond(line, segment, -1, b.atUs), b.offsetUs] as const,
    [beyond(line, segment + 1, 1, a.atUs), a.offsetUs] as const,
  ].flatMap(([ledUs, isUs]) => (ledUs === undefined ? [] : Math.abs(isUs - ledUs)));
  const bendUs = bendsUs.length > 0 ? Math.min(...bendsUs) : Math.abs(b.offsetUs - a.offsetUs);
  return Math.max(a.uncertaintyUs, b.uncertaintyUs) + bendUs;
}

/**
 * Where the line through a reading leads on its other side. It comes from the nearest reading that is at least as far away,
 * so that their errors do not grow on the way; undefined if there is none.
 * @param step to the readings that it comes from: 1 for later ones
 */
function beyond(line: ClockReading[], index: number, step: 1 | -1, atUs: number): number | undefined {
  const end = line[index] as ClockReading;
  for (let base = line[index + step], at = index + step; base; at += step, base = line[at]) {
    if (Math.abs(base.atUs - end.atUs) >= Math.abs(atUs - end.atUs)) return along(base, end, atUs);
  }
  return undefined;
}

function along(a: ClockReading, b: ClockReading, atUs: number): number {
  if (a.atUs === b.atUs) return a.offsetUs;
  return a.offsetUs + ((b.offsetUs - a.offsetUs) * (atUs - a.atUs)) / (b.atUs - a.atUs);
}
