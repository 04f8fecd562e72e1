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

const figure = (kind: RunMetric['kind'], name: string, unit: string, path: string, help: string): RunMetric => ({
  ...{ name, kind, unit, help, path },
});

/** Of one part of the result: its key → help. The metric is called as the key, in Artillery's spelling. */
function figures(kind: RunMetric['kind'], prefix: string, unit: string, keys: Record<string, string>): RunMetric[] {
  const part = prefix.replace('socketio.', '');
  return Object.entries(keys).map(([key, help]) => {
    const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return figure(kind, `${prefix}.${name}`, unit, `${part}.${key}`, help);
  });
}

const RATE_HELP = 'connections made per second, pauses left out';
const MISSED_HELP = 'copies of broadcasts missed after the fault';

const COUNTERS: RunMetric[] = [
  ...figures('counter', 'connections', 'connections', {
    peak: 'largest number of connections at the same time, at a plateau',
  }),
  ...figures('counter', 'connections', 'virtual users', {
    failed: 'virtual users that failed',
    skipped: 'virtual users beyond `maxVusers`, not started',
  }),
  ...figures('counter', 'connections', 'connections', {
    held: 'connections open after all broadcasts',
    lost: 'open connections that ended before their release',
  }),
  ...figures('counter', 'connections', 'acknowledgements', {
    unknownAcks: 'acknowledgements of nothing that was sent, and repeated ones',
  }),
  figure('counter', 'connections.rate', 'connections/s', 'connections.achievedRatePerSec', RATE_HELP),
  ...figures('counter', 'socketio.delivery', '0 to 1', {
    coverageOfTarget: 'received ÷ what the target would have received',
    coverage: 'received ÷ expected',
  }),
  ...figures('counter', 'socketio.delivery', 'receipts', {
    expected: 'receipts expected',
    received: 'receipts by expected connections, the first of each connection',
    lostConnected: 'not received, although the connection stayed open',
    lostDisconnected: 'not received, and the connection ended after the send',
    duplicates: "receipts after a connection's first",
    reordered: 'first receipts by connections that had already received a later broadcast',
    unexpected: 'receipts by connections whose join was not acknowledged before the send',
    notMember: 'receipts by connections that never asked to join the room',
    wrongSize: 'copies whose payload has another length',
    wrongContent: 'copies whose payload has other characters, among those compared',
    early: 'receipts before the send',
    late: 'receipts after the ledger was finalized',
    unreadable: 'copies without a payload of the wire contract',
    neverOrdered: 'copies with a number that the run did not send',
  }),
  ...figures('counter', 'socketio.fault', 'connections', {
    dropped: 'connections that the planned fault dropped',
    notBack: 'connections that did not come back from it',
  }),
  figure('counter', 'socketio.fault.back_ms', 'ms', 'fault.backMs.all', 'until all dropped connections were back'),
  figure('counter', 'socketio.fault.missed', 'receipts', 'fault.broadcasts.missed', MISSED_HELP),
  ...figures('counter', 'socketio.messages', '0 to 1', {
    answered: 'acknowledged ÷ sent, of those that ask for it',
  }),
  ...figures('counter', 'socketio.messages', 'messages', {
    due: 'messages due on the schedule of `every`',
    sent: 'messages sent',
    notSent: 'messages due and not sent',
    acknowledged: 'messages acknowledged',
    unansweredConnected: 'not acknowledged, although the connection was open',
    unansweredDisconnected: 'not acknowledged when the connection ended',
  }),
];

/** In ms: name → key in the result, and help. */
const TIMES: Record<string, [path: string, help: string]> = {
  'connections.connect_time': ['connections.connectMs', 'from the first attempt to the CONNECT answer'],
  'socketio.messages.ack_time': ['messages.ackMs', 'from the intended send of a message to its acknowledgement'],
  'socketio.messages.send_delay': ['messages.sendDelayMs', 'actual less intended send time of messages'],
  'socketio.broadcast.latency': ['latency.oneWayMs', 'latency of all receipts, from what `latency.from` names'],
  'socketio.broadcast.completion': ['latency.completionMs', "latency of each broadcast's last receiver"],
  'socketio.broadcast.sentinel': ['latency.sentinelMs', 'latency of the reference receiver'],
  'socketio.broadcast.send_delay': ['latency.sendDelayMs', 'actual less intended send time'],
  'socketio.broadcast.round_trip_half_under_load': [
    'latency.roundTripHalfMs.underLoad',
    "the probe's round trips ÷ 2, with the full target connected",
  ],
  'socketio.broadcast.round_trip_half_single': [
    'latency.roundTripHalfMs.single',
    "the probe's unloaded round trips ÷ 2, with nobody else connected",
  ],
};

const SUMMARIES = Object.entries(TIMES).map(([name, [path, help]]) => figure('summary', name, 'ms', path, help));

/**
 * `ensure` replaces names inside expressions one after the other, counters first, so no name may be a prefix of a later
 * one.
 * @param layers their figures name the memory metrics
 */
export function runMetrics(layers: readonly Layer[] = LAYERS): RunMetric[] {
  const ofMemory = layers
    .flatMap(({ figures }) => figures)
    .flatMap(({ id, title, metric }) =>
      metric === undefined ? [] : figure('counter', metric, 'bytes', `memory.perConnectionBytes.${id}.slope`, title),
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
