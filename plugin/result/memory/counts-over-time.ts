/**
 * Finds counts of objects that remain after all connections of a wave have closed: connections, namespaces, keys,
 * sockets.
 */
import type { CountOverTime } from '../../../protocol/result/memory-schema.ts';
import { fitPlateaus } from '../../../report/statistics/plateaus.ts';
import type { MomentReading } from '../../run/measurements/memory-measured.ts';

/** Minimum growth of a count per closed connection. Smaller growth can be objects that the server itself creates. */
const KEPT_SHARE = 0.01;
const LEAST_KEPT = 5;
const LEAST_READINGS = 3;

/**
 * @param readings readings after the warm-up
 * @returns the counts that all readings contain
 */
export function countsOverTime(
  readings: Pick<MomentReading, 'gone' | 'counts'>[],
  titles: Record<string, string>,
): CountOverTime[] {
  const [first, last] = [readings[0], readings.at(-1)];
  if (!first?.counts || !last?.counts || readings.length < LEAST_READINGS) return [];
  return Object.entries(first.counts).flatMap(([id, before]) => {
    const points = readings.flatMap(({ gone, counts }) => {
      const y = counts?.[id];
      return y === undefined ? [] : [{ x: gone, y }];
    });
    const line = points.length === readings.length ? fitPlateaus(points) : null;
    const after = last.counts?.[id];
    if (line === null || line.low95 === null || line.high95 === null || after === undefined) return [];
    const { slope: perConnection, low95, high95 } = line;
    const least = Math.max(LEAST_KEPT, KEPT_SHARE * (last.gone - first.gone));
    const isKept = low95 > 0 && after - before >= least;
    return [{ id, title: titles[id] ?? id, first: before, last: after, perConnection, low95, high95, isKept }];
  });
}
