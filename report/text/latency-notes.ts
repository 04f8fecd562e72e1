/** What so few broadcasts can tell of latencies, in sentences. */
import type { Interval } from '../../protocol/result/parts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { counted, milliseconds, tailOf } from './format.ts';

/** What the latencies of all receivers are. */
export function oneWayTitle({ from }: Pick<Result['latency'], 'from'>): string {
  return { server: 'One way', payload: 'One way', publisher: 'Publish to receive', 'first receipt': 'Spread' }[from];
}

/** For a headline: the tail, and of what unless it is the latency from the send. */
export function oneWayTail({ from, oneWayMs }: Pick<Result['latency'], 'from' | 'oneWayMs'>): string | null {
  if (oneWayMs === null) return null;
  const what = { server: '', payload: '', publisher: ' from publish to receive', 'first receipt': ' after the first' };
  return `${tailOf(oneWayMs)}${what[from]}`;
}

const FROM_NOTES: Record<Result['latency']['from'], string[]> = {
  server: [],
  payload: ["Latencies count from the time in the payload, on the server's clock: any error of that clock is in them."],
  publisher: ["Latencies count from the publisher's intended emit; it and the receivers share the generator's clock."],
  'first receipt': ['Latencies count from the first receipt of each broadcast: when it was sent is not known.'],
};

export function fromNotes({ from, oneWayMs }: Pick<Result['latency'], 'from' | 'oneWayMs'>): string[] {
  return oneWayMs ? FROM_NOTES[from] : [];
}

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
