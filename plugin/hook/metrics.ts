/** The measurements as Artillery metrics, so that `config.plugins.ensure` can set thresholds on them. */
import type { Metric } from '../../protocol/metric.ts';
import type { Result, Summary } from '../../protocol/result.ts';
import { valueAt } from '../../report/figures.ts';
import { LAYERS, type Layer } from '../samplers/index.ts';
import type { ArtilleryStats } from './artillery.ts';

interface RunMetric extends Metric {
  /** A counter is one number at the end of the run, a summary the distribution of many. */
  kind: 'counter' | 'summary';
  /** Its place in the result document: keys separated by dots. */
  path: string;
}

const number = (name: string, unit: string, path: string, help: string): RunMetric => ({
  name,
  kind: 'counter',
  unit,
  help,
  path,
});

const receipts = (name: string, path: string, help: string) =>
  number(`socketio.delivery.${name}`, 'receipts', `delivery.${path}`, help);

const times = (name: string, path: string, help: string): RunMetric => ({
  name,
  kind: 'summary',
  unit: 'ms',
  help,
  path,
});

const COUNTERS: RunMetric[] = [
  number(
    'connections.peak',
    'connections',
    'connections.peak',
    'largest number of connections at the same time, at a plateau',
  ),
  number('connections.failed', 'virtual users', 'connections.failed', 'virtual users that failed'),
  number(
    'connections.rate',
    'connections/s',
    'connections.achievedRatePerSec',
    'connections made per second, pauses left out',
  ),
  number('socketio.delivery.coverage', '0 to 1', 'delivery.coverage', 'received ÷ expected'),
  receipts('expected', 'expected', 'receipts expected'),
  receipts('received', 'received', 'receipts by expected connections, the first of each connection'),
  receipts('lost_connected', 'lostConnected', 'not received, although the connection stayed open'),
  receipts('lost_disconnected', 'lostDisconnected', 'not received, and the connection ended after the send'),
  receipts('duplicates', 'duplicates', "receipts after a connection's first"),
  receipts('reordered', 'reordered', 'first receipts by connections that had already received a later broadcast'),
  receipts('unexpected', 'unexpected', 'receipts by connections whose join was not acknowledged before the send'),
];

const SUMMARIES: RunMetric[] = [
  times('connections.connect_time', 'connections.connectMs', 'from the first attempt to the CONNECT answer'),
  times('socketio.broadcast.latency', 'latency.oneWayMs', 'one-way latency of all receipts'),
  times('socketio.broadcast.completion', 'latency.completionMs', "latency of each broadcast's last receiver"),
  times('socketio.broadcast.sentinel', 'latency.sentinelMs', 'latency of the reference receiver'),
  times('socketio.broadcast.send_delay', 'latency.sendDelayMs', 'actual less intended send time'),
  times(
    'socketio.broadcast.round_trip_half_under_load',
    'latency.roundTripHalfMs.underLoad',
    "the probe's round trips ÷ 2, with the full target connected",
  ),
  times(
    'socketio.broadcast.round_trip_half_single',
    'latency.roundTripHalfMs.single',
    "the probe's unloaded round trips ÷ 2, with nobody else connected",
  ),
];

/**
 * `ensure` replaces names inside expressions one after the other, counters first, so no name may be a prefix of a later
 * one.
 * @param layers their figures name the memory metrics
 */
export function runMetrics(layers: readonly Layer[] = LAYERS): RunMetric[] {
  const ofMemory = layers
    .flatMap(({ figures }) => figures)
    .flatMap(({ id, title, metric }) =>
      metric === undefined ? [] : number(metric, 'bytes', `memory.perConnectionBytes.${id}.slope`, title),
    );
  return [...COUNTERS, ...ofMemory, ...SUMMARIES];
}

/** Adds the run's figures to Artillery's own, except for those that were not measured. */
export function addMetrics(stats: ArtilleryStats, result: Result, layers: readonly Layer[] = LAYERS): void {
  for (const { name, kind, path } of runMetrics(layers)) {
    const value = valueAt(result, path);
    if (value === null || value === undefined) continue;
    if (kind === 'counter') stats.counters[name] = Math.round((value as number) * 10_000) / 10_000;
    else stats.summaries[name] = aggregationsOf(value as Summary);
  }
}

/** @returns the summary with Artillery's names */
function aggregationsOf({ p999, ...rest }: Summary): Record<string, number> {
  // p999 comes before p99, which is a prefix of it.
  return { p999, ...rest, median: rest.p50 };
}
