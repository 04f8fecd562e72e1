/**
 * Errors of slopes that move all plateaus the same way. The interval of a line through few plateaus contains noise only; free pages and the
 * growth of V8's heap without collections are not noise.
 */
import type { Slope } from '../../../protocol/result/memory-schema.ts';
import type { Point } from '../../../report/statistics/statistics.ts';

const MB = 1024 ** 2;
/**
 * Free pages of one Node process after start-up and warm-up, which the first connections use: RSS rises by too little. Measured with 100 to
 * 400 connections to untouched servers: 0.8 to 1.6 MB.
 */
const FREE_BYTES = 4 * MB;
/** V8's young generation grows once, to its two semi-spaces of 16 MB: RSS rises by too much. Measured likewise: by up to 17 MB. */
export const YOUNG_BYTES = 32 * MB;
/** @returns the line of a process whose memory did not rise, bounded by the room that it may have had free */
export function withinFreePages<Line extends Omit<Slope, 'naive'>>(
  line: Line,
  points: Point[],
  processes: number,
): Line {
  const connections = Math.max(1, ...points.map(({ x }) => x));
  return { ...line, low95: 0, high95: Math.max(line.slope, 0) + (FREE_BYTES * processes) / connections };
}

/** @returns the line with an interval that allows for both; many connections make them small */
export function allowingForGarbage<Line extends Omit<Slope, 'naive'>>(
  line: Line,
  points: Point[],
  processes: number,
): Line {
  const { low95, high95 } = line;
  const xs = points.map(({ x }) => x);
  const connections = Math.max(...xs) - Math.min(...xs);
  if (low95 === null || high95 === null || connections === 0) return line;
  const per = processes / connections;
  return { ...line, low95: low95 - YOUNG_BYTES * per, high95: high95 + FREE_BYTES * per };
}
