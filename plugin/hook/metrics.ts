/** The measurements as Artillery metrics, so that `config.plugins.ensure` can set thresholds on them. */
import type { Metric } from '../../protocol/metric.ts';
import type { Summary } from '../../protocol/result/parts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { valueAt } from '../../report/figures/figures.ts';
import { whyNotQuoted } from '../../report/figures/quoted.ts';
import { LAYERS, type Layer } from '../samplers/index.ts';
import type { ArtilleryStats } from './artillery.ts';

interface RunMetric extends Omit<Metric, 'help'> {
  /** A counter is one number at the end of the run, a summary the distribution of many. */
  kind: 'counter' | 'summary';
  /** Its place in the result document, whose schema describes it: keys separated by dots. Of counts by reason, the sum. */
  path: string;
}

const figure = (kind: RunMetric['kind'], name: string, unit: string, path: string): RunMetric => ({
  ...{ name, kind, unit, path },
});

/** Of one part of the result. The metrics are called as the keys, in Artillery's spelling. */
function counters(prefix: string, unit: string, keys: string[]): RunMetric[] {
  const part = prefix.replace('socketio.', '');
  return keys.map((key) => {
    const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return figure('counter', `${prefix}.${name}`, unit, `${part}.${key}`);
  });
}

const COUNTERS: RunMetric[] = [
  ...counters('connections', 'connections', ['peak']),
  ...counters('connections', 'virtual users', ['failed', 'skipped']),
  ...counters('connections', 'connections', ['held', 'lost']),
  ...counters('connections', 'acknowledgements', ['unknownAcks']),
  figure('counter', 'connections.rate', 'connections/s', 'connections.achievedRatePerSec'),
  ...counters('socketio.delivery', '0 to 1', ['coverageOfTarget', 'coverage']),
  ...counters('socketio.delivery', 'receipts', [
    ...['expected', 'received', 'lostConnected', 'lostDisconnected', 'duplicates', 'reordered', 'unexpected'],
    ...['notMember', 'wrongSize', 'wrongContent', 'early', 'late', 'unreadable', 'neverOrdered'],
  ]),
  ...counters('socketio.fault', 'connections', ['dropped', 'notBack']),
  figure('counter', 'socketio.fault.back_ms', 'ms', 'fault.backMs.all'),
  figure('counter', 'socketio.fault.missed', 'receipts', 'fault.broadcasts.missed'),
  ...counters('socketio.messages', '0 to 1', ['answered']),
  ...counters('socketio.messages', 'messages', [
    ...['due', 'sent', 'notSent', 'acknowledged', 'unansweredConnected', 'unansweredDisconnected'],
  ]),
];

/** In ms: name → key in the result. */
const TIMES = {
  'connections.connect_time': 'connections.connectMs',
  'socketio.messages.ack_time': 'messages.ackMs',
  'socketio.messages.send_delay': 'messages.sendDelayMs',
  'socketio.broadcast.latency': 'latency.oneWayMs',
  'socketio.broadcast.completion': 'latency.completionMs',
  'socketio.broadcast.sentinel': 'latency.sentinelMs',
  'socketio.broadcast.send_delay': 'latency.sendDelayMs',
  'socketio.broadcast.round_trip_half_under_load': 'latency.roundTripHalfMs.underLoad',
  'socketio.broadcast.round_trip_half_single': 'latency.roundTripHalfMs.single',
};

const SUMMARIES = Object.entries(TIMES).map(([name, path]) => figure('summary', name, 'ms', path));

/**
 * `ensure` replaces names inside expressions one after the other, counters first, so no name may be a prefix of a later
 * one.
 * @param layers their figures name the memory metrics
 */
export function runMetrics(layers: readonly Layer[] = LAYERS): RunMetric[] {
  const ofMemory = layers
    .flatMap(({ figures }) => figures)
    .flatMap(({ id, metric }) =>
      metric === undefined ? [] : figure('counter', metric, 'bytes', `memory.perConnectionBytes.${id}.slope`),
    );
  return [...COUNTERS, ...ofMemory, ...SUMMARIES];
}

/** By the metric's name. */
export const METRIC_UNITS: Record<string, string> = Object.fromEntries(
  runMetrics().map(({ name, unit }) => [name, unit]),
);

/** Adds the run's figures to Artillery's own, except for those that were not measured, or may not be quoted. */
export function addMetrics(stats: ArtilleryStats, result: Result, layers: readonly Layer[] = LAYERS): void {
  for (const { name, kind, path } of runMetrics(layers)) {
    const value = isWithheld(result, path) ? null : valueAt(result, path);
    if (value === null || value === undefined) continue;
    if (kind === 'counter') stats.counters[name] = Math.round(totalOf(value as Count) * 10_000) / 10_000;
    else stats.summaries[name] = aggregationsOf(value as Summary);
  }
}

/**
 * For other plugins, such as publish-metrics, which pass on the metrics of periods and never look at those of the run.
 * @param stats of the whole run
 * @returns a period that has the run's figures and nothing else, so that nothing counts twice
 */
export function asPeriod(stats: ArtilleryStats, result: Result): ArtilleryStats {
  const period = { ...stats, counters: {}, rates: {}, summaries: {} };
  addMetrics(period, result);
  return period;
}

/** A metric has no place for a doubt: what reports give with one, or not at all, is no metric. */
function isWithheld(result: Result, path: string): boolean {
  if (!path.startsWith('memory.')) return false;
  const isUnknown = result.verdict.status === 'INVALID' || result.absent.memory !== undefined;
  return isUnknown || whyNotQuoted(result, path) !== undefined;
}

type Count = number | Record<string, number>;

function totalOf(count: Count): number {
  return typeof count === 'number' ? count : Object.values(count).reduce((total, one) => total + one, 0);
}

/**
 * `ensure` ignores a threshold without a value: if there are too few broadcasts for a percentile, the maximum, which it
 * cannot exceed, takes its place.
 * @returns the summary with Artillery's names
 */
function aggregationsOf({ p999, p90, p95, p99, ...rest }: Summary): Record<string, number> {
  const { max, p50 } = rest;
  // p999 comes before p99, which is a prefix of it.
  return { p999: p999 ?? max, ...rest, p90: p90 ?? max, p95: p95 ?? max, p99: p99 ?? max, median: p50 };
}
