/** The metrics of a run, by which Artillery's plugin `ensure` knows its figures. */
import type { Metric } from '../../protocol/metric.ts';
import { LAYERS, type Layer } from '../samplers/index.ts';

interface RunMetric extends Omit<Metric, 'help'> {
  /** A counter is one number at the end of the run, a summary the distribution of many. */
  kind: 'counter' | 'summary';
  /** Its place in the result document, whose schema describes it: keys separated by dots. Of counts by reason, the sum. */
  path: string;
}

const figure = (kind: RunMetric['kind'], name: string, unit: string, path: string): RunMetric => ({
  ...{ name, kind, unit, path },
});

/** Metrics of one part of the result, named as its keys in Artillery's spelling. */
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
  figure('counter', 'memory.deployment.bytes_per_connection', 'bytes', 'memory.perConnection.bytes'),
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
