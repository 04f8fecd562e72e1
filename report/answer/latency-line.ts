import type { Result } from '../../protocol/result/result.ts';
import { withUnit } from '../model/amount.ts';
import { highestPercentile, percentilesText, supportedPercentiles } from '../model/names.ts';
import { answerFigure, hasBroadcasts, type ReportLine, unknownFigure } from './line.ts';

type Latency = Result['latency'];

const ONE_WAY = 'latency.oneWayMs';
const NAME = 'Latency';

/** Text after `all copies` that states the time from which latency is measured. */
const FROM: Record<Latency['from'], string> = {
  server: '',
  payload: '',
  publisher: ', from publishing',
  'first receipt': ', from the first copy',
};

/** Reports the latency of the copies. Returns no line if the run sent no broadcasts. */
export function latencyLines(result: Result): ReportLine[] {
  if (!hasBroadcasts(result)) return [];
  const why = result.absent.latency;
  if (why !== undefined) return unknownFigure(result, ONE_WAY, why, NAME);
  const times = supportedLatency(result);
  return [...finding(result, times), ...acrossWorkers(times)];
}

/**
 * Removes percentiles for which the run sent too few broadcasts. All copies of a broadcast are late together, so copies
 * do not count as independent values.
 */
export function supportedLatency({ latency: times, delivery }: Result): Latency {
  const keys = ['oneWayMs', 'localMs', 'crossWorkerMs', 'completionMs'] as const;
  const entries = keys.map((key) => [key, times[key] && supportedPercentiles(delivery?.broadcasts ?? 0, times[key])]);
  return { ...times, ...Object.fromEntries(entries) };
}

function finding(result: Result, { from, oneWayMs, completionMs }: Latency): ReportLine[] {
  if (!oneWayMs) return unknownFigure(result, ONE_WAY, 'no broadcast arrived, or this engine keeps no ledger', NAME);
  const { ms, percentile } = highestPercentile(oneWayMs);
  const lastCopies = completionMs
    ? `last copy of a broadcast: median ${withUnit('milliseconds', completionMs.p50)}, maximum ${withUnit('milliseconds', completionMs.max)}`
    : '';
  return [
    {
      text: `latency ${percentilesText(oneWayMs)} (all copies${FROM[from]})`,
      figure: answerFigure(
        `${ONE_WAY}.${percentile}`,
        ms,
        [FROM[from].slice(', '.length), lastCopies].filter(Boolean).join('; '),
        `${NAME} ${percentile}`,
      ),
    },
  ];
}

/**
 * Smallest delay that the line attributes to the adapter, in milliseconds. The publisher's worker sends its own copies
 * first, which explains a shorter delay on the other workers.
 */
const MIN_ACROSS_MS = 20;

function acrossWorkers({ localMs, crossWorkerMs }: Latency): ReportLine[] {
  if (!localMs || !crossWorkerMs) return [];
  const leastMs = crossWorkerMs.min - (localMs.p99 ?? localMs.max);
  if (leastMs < MIN_ACROSS_MS) return [];
  return [{ text: `the adapter took at least ${withUnit('milliseconds', leastMs)} to reach other workers` }];
}
