/** Section on the latency of copies. */

import type { Result } from '../../protocol/result/result.ts';
import type { Interval } from '../../protocol/result/shared-schemas.ts';
import { supportedLatency } from '../answer/latency-line.ts';
import { hasBroadcasts } from '../answer/line.ts';
import { broadcastTimesChart, oneWayLatencyChart } from '../charts/latency-chart.ts';
import { numberText, withUnit } from '../model/amount.ts';
import { absentSection, chartBlock, linesBlock, type ReportSection } from '../model/document.ts';
import { countText, integerText } from '../text/format.ts';
import { summariesTable } from './section-parts.ts';

type Latency = Result['latency'];

const NO_BROADCAST = 'Not measured: no broadcast was received.';

const FROM_NOTES: Record<Latency['from'], string | null> = {
  server: null,
  payload: 'Latencies count from the time in the payload, so that any error of the server’s clock is in them.',
  publisher: 'Latencies count from the publisher’s intended emit; it and the receivers share the generator’s clock.',
  'first receipt': 'Latencies count from the first copy of each broadcast: the run does not know when it was sent.',
};

/** Returns the section; null for runs without broadcasts. */
export function latencySection(result: Result): ReportSection | null {
  if (!hasBroadcasts(result)) return null;
  const { absent, delivery } = result;
  const times = supportedLatency(result);
  const why = absent.latency;
  if (why !== undefined) return absentSection('latency', 'Latency', why);
  return {
    id: 'latency',
    title: 'Latency',
    lead: 'How long copies took from the intended send until they arrived, and how long until the last one arrived.',
    terms: ['Latency of a copy', 'Last receiver', 'Send delay', 'Reference receiver', 'Round trip ÷ 2'],
    blocks: [
      chartBlock(oneWayLatencyChart(result), NO_BROADCAST),
      summariesTable(
        'Latency of all broadcasts',
        [
          ['Every copy', times.oneWayMs],
          ['– same worker as the publisher', times.localMs],
          ['– across workers', times.crossWorkerMs],
          ['Last receiver', times.completionMs],
          ['Reference receiver', times.sentinelMs],
          ['Other receivers arrive later, by', times.behindSentinelMs],
          ['Send delay', times.sendDelayMs],
          ['Round trip ÷ 2 under load', times.roundTripHalfMs.underLoad],
          ['Round trip ÷ 2 unloaded', times.roundTripHalfMs.single],
        ],
        true,
      ),
      linesBlock('note', notes(result, times)),
      ...(delivery && delivery.batches.length > 0 ? [chartBlock(broadcastTimesChart(result), NO_BROADCAST)] : []),
      linesBlock('note', [absent.roundTrip !== undefined && `The round trip was not measured: ${absent.roundTrip}.`]),
    ],
  };
}

function notes({ delivery }: Result, times: Latency) {
  const { from, oneWayMs, completionMs, intervals, slowFirst, clocks } = times;
  if (!oneWayMs || !completionMs) return [];
  const known: [string, Interval | undefined][] = [
    ['half of the copies', intervals?.oneWayMs.p50],
    ['99 % of copies', intervals?.oneWayMs.p99],
    ['last receiver, p50', intervals?.completionMs.p50],
    ['last receiver, p99', intervals?.completionMs.p99],
  ];
  const ms = (value: number) => withUnit('milliseconds', value);
  const ranges = known.flatMap(([name, interval]) =>
    interval ? [`${name} ${numberText('milliseconds', interval.low95)} to ${ms(interval.high95)}`] : [],
  );
  const broadcasts = delivery?.broadcasts ?? completionMs.count;
  return [
    FROM_NOTES[from],
    ranges.length > 0 && `95 % intervals over ${countText(completionMs.count, 'broadcast')}: ${ranges.join(', ')}.`,
    oneWayMs.p999 === null &&
      `–: too few broadcasts for this percentile (${integerText(broadcasts)}; p90 needs 10, p95 20, p99 100, p99.9 1,000).`,
    slowFirst &&
      `The first broadcast took ${ms(slowFirst.lastMs)} to reach every connection, the others ${ms(slowFirst.othersP50Ms)} (median; at most ${ms(slowFirst.othersMaxMs)}). All figures include it.`,
    ...clockNotes(clocks),
  ];
}

/** Describes how much the clocks of workers on other hosts differ from the run's clock. */
function clockNotes(clocks: Latency['clocks']): string[] {
  const apart = clocks.filter(({ offsetUs }) => offsetUs !== 0);
  if (apart.length === 0) return [];
  const worst = apart.reduce((one, other) => (one.uncertaintyUs > other.uncertaintyUs ? one : other));
  const ms = (us: number) => withUnit('milliseconds', us / 1000);
  return [
    `${integerText(apart.length)} of ${countText(clocks.length, 'worker')} use a different clock from the generator’s; the offset is removed, with an error of ± ${ms(worst.uncertaintyUs)} (${worst.worker}).`,
    ...apart.flatMap(({ worker, jumpUs }) =>
      jumpUs > 0 ? [`The clock of ${worker} jumped by up to ${ms(jumpUs)}.`] : [],
    ),
  ];
}
