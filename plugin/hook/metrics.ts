/** The measurements as Artillery metrics, so that `config.plugins.ensure` can set thresholds on them. */
import type { Metric } from '../../protocol/metric.ts';
import type { Summary } from '../../protocol/result/parts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { valueAt } from '../../report/figures/figures.ts';
import { whyNotQuoted } from '../../report/figures/quoted.ts';
import { LAYERS, type Layer } from '../samplers/index.ts';
import type { ArtilleryStats } from './artillery.ts';

interface RunMetric extends Metric {
  /** A counter is one number at the end of the run, a summary the distribution of many. */
  kind: 'counter' | 'summary';
  /** Its place in the result document: keys separated by dots. Of counts by reason, the metric is the sum. */
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

const sentMessages = (name: string, path: string, help: string) =>
  number(`socketio.messages.${name}`, 'messages', `messages.${path}`, help);

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
    'connections.skipped',
    'virtual users',
    'connections.skipped',
    'virtual users beyond `maxVusers`, not started',
  ),
  number('connections.held', 'connections', 'connections.held', 'connections open after all broadcasts'),
  number('connections.lost', 'connections', 'connections.lost', 'open connections that ended before their release'),
  number(
    'connections.unknown_acks',
    'acknowledgements',
    'connections.unknownAcks',
    'acknowledgements of nothing that was sent, and repeated ones',
  ),
  number(
    'connections.rate',
    'connections/s',
    'connections.achievedRatePerSec',
    'connections made per second, pauses left out',
  ),
  number(
    'socketio.delivery.coverage_of_target',
    '0 to 1',
    'delivery.coverageOfTarget',
    'received ÷ what the target would have received',
  ),
  number('socketio.delivery.coverage', '0 to 1', 'delivery.coverage', 'received ÷ expected'),
  receipts('expected', 'expected', 'receipts expected'),
  receipts('received', 'received', 'receipts by expected connections, the first of each connection'),
  receipts('lost_connected', 'lostConnected', 'not received, although the connection stayed open'),
  receipts('lost_disconnected', 'lostDisconnected', 'not received, and the connection ended after the send'),
  receipts('duplicates', 'duplicates', "receipts after a connection's first"),
  receipts('reordered', 'reordered', 'first receipts by connections that had already received a later broadcast'),
  receipts('unexpected', 'unexpected', 'receipts by connections whose join was not acknowledged before the send'),
  receipts('not_member', 'notMember', 'receipts by connections that never asked to join the room'),
  receipts('wrong_size', 'wrongSize', 'copies whose payload has another length'),
  receipts('wrong_content', 'wrongContent', 'copies whose payload has other characters, among those compared'),
  receipts('early', 'early', 'receipts before the send'),
  receipts('late', 'late', 'receipts after the ledger was finalized'),
  receipts('unreadable', 'unreadable', 'copies without a payload of the wire contract'),
  receipts('never_ordered', 'neverOrdered', 'copies with a number that the run did not send'),
  number('socketio.fault.dropped', 'connections', 'fault.dropped', 'connections that the planned fault dropped'),
  number('socketio.fault.not_back', 'connections', 'fault.notBack', 'connections that did not come back from it'),
  number('socketio.fault.back_ms', 'ms', 'fault.backMs.all', 'until all dropped connections were back'),
  number('socketio.fault.missed', 'receipts', 'fault.broadcasts.missed', 'copies of broadcasts missed after the fault'),
  number('socketio.messages.answered', '0 to 1', 'messages.answered', 'acknowledged ÷ sent, of those that ask for it'),
  sentMessages('due', 'due', 'messages due on the schedule of `every`'),
  sentMessages('sent', 'sent', 'messages sent'),
  sentMessages('not_sent', 'notSent', 'messages due and not sent'),
  sentMessages('acknowledged', 'acknowledged', 'messages acknowledged'),
  sentMessages('unanswered_connected', 'unansweredConnected', 'not acknowledged, although the connection was open'),
  sentMessages('unanswered_disconnected', 'unansweredDisconnected', 'not acknowledged when the connection ended'),
];

const SUMMARIES: RunMetric[] = [
  times('connections.connect_time', 'connections.connectMs', 'from the first attempt to the CONNECT answer'),
  times('socketio.messages.ack_time', 'messages.ackMs', 'from the intended send of a message to its acknowledgement'),
  times('socketio.messages.send_delay', 'messages.sendDelayMs', 'actual less intended send time of messages'),
  times('socketio.broadcast.latency', 'latency.oneWayMs', 'latency of all receipts, from what `latency.from` names'),
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
