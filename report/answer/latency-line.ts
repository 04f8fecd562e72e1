import type { Result } from '../../protocol/result/result.ts';
import { withUnit } from '../model/amount.ts';
import { carriedBy, tailOf } from '../model/names.ts';
import { figureOf, type Line } from './line.ts';
import { hasBroadcasts, unknownFigure } from './unknown-figure.ts';

type Latency = Result['latency'];

const ONE_WAY = 'latency.oneWayMs';
const ARRIVED = 'Copies arrived within';

/** The start of latencies, as text after "arrived within 12 ms". */
const FROM: Record<Latency['from'], string> = {
  server: '',
  payload: '',
  publisher: ' of publishing',
  'first receipt': ' of the first copy',
};

/** Empty where nothing was to be broadcast. */
export function latencyLines(result: Result): Line[] {
  if (!hasBroadcasts(result)) return [];
  const why = result.absent.latency;
  if (why !== undefined) return unknownFigure(result, ONE_WAY, why, ARRIVED);
  const times = carriedLatency(result);
  return [...finding(result, times), ...acrossWorkers(times)];
}

/** Percentiles of copies only as far as there are broadcasts for them: all copies of one are late together. */
export function carriedLatency({ latency: times, delivery }: Result): Latency {
  const keys = ['oneWayMs', 'localMs', 'crossWorkerMs', 'completionMs'] as const;
  const carriedTimes = keys.map((key) => [key, times[key] && carriedBy(delivery?.broadcasts ?? 0, times[key])]);
  return { ...times, ...Object.fromEntries(carriedTimes) };
}

function finding(result: Result, { from, oneWayMs, completionMs }: Latency): Line[] {
  if (!oneWayMs) return unknownFigure(result, ONE_WAY, 'no broadcast arrived, or this engine keeps no ledger', ARRIVED);
  const { share, ms, percentile } = tailOf(oneWayMs);
  const half = share === 'half' ? '' : `, half within ${withUnit('milliseconds', oneWayMs.p50)}`;
  const everybody = completionMs
    ? `everybody had a copy after ${withUnit('milliseconds', completionMs.p50)} (median broadcast), at most ${withUnit('milliseconds', completionMs.max)}`
    : '';
  return [
    {
      text: `${share} of ${share === 'half' ? 'the ' : ''}copies arrived within ${withUnit('milliseconds', ms)}${FROM[from]}${half}`,
      figure: figureOf(
        `${ONE_WAY}.${percentile}`,
        ms,
        [FROM[from].trim(), everybody].filter(Boolean).join('; '),
        `${share === 'half' ? 'Half of the' : `${share} of`} copies arrived within`,
      ),
    },
  ];
}

/** A broadcast crosses to other workers once the publisher's own has sent all its copies: what comes on top is the way. */
const MIN_ACROSS_MS = 20;

function acrossWorkers({ localMs, crossWorkerMs }: Latency): Line[] {
  if (!localMs || !crossWorkerMs) return [];
  const leastMs = crossWorkerMs.min - (localMs.p99 ?? localMs.max);
  if (leastMs < MIN_ACROSS_MS) return [];
  return [{ text: `the adapter took at least ${withUnit('milliseconds', leastMs)} to reach other workers` }];
}
