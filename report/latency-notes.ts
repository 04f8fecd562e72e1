/** What so few broadcasts can tell of latencies, in sentences. */
import type { Interval, Result } from '../protocol/result.ts';
import { counted, milliseconds } from './format.ts';

export function broadcastNotes({ oneWayMs, completionMs, intervals, slowFirst }: Result['latency']): string[] {
  if (!completionMs) return [];
  const { count } = completionMs;
  const known = [
    ['one way p50', intervals?.oneWayMs.p50],
    ['one way p99', intervals?.oneWayMs.p99],
    ['completion p50', intervals?.completionMs.p50],
    ['completion p99', intervals?.completionMs.p99],
  ] satisfies [string, Interval | undefined][];
  const ranges = known.flatMap(([name, interval]) =>
    interval ? [`${name} ${milliseconds(interval.low95)} to ${milliseconds(interval.high95)} ms`] : [],
  );
  return [
    ...(ranges.length > 0 ? [`95 % intervals over ${counted(count, 'broadcast')}: ${ranges.join(', ')}.`] : []),
    ...(oneWayMs?.p99 === null || oneWayMs?.p999 === null
      ? [
          `– in a column: too few broadcasts for this percentile (${count}; p90 needs 10, p95 20, p99 100, p99.9 1,000).`,
        ]
      : []),
    ...(slowFirst
      ? [
          `The first broadcast took ${milliseconds(slowFirst.lastMs)} ms to reach everybody, the others ` +
            `${milliseconds(slowFirst.othersP50Ms)} ms (median; at most ${milliseconds(slowFirst.othersMaxMs)} ms). ` +
            'All figures above include it.',
        ]
      : []),
  ];
}
