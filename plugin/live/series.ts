/** Every Prometheus series of a live run: its name, and how its samples are computed from the figures. */
import type { Metric } from '../../protocol/metric.ts';
import type { LiveFigures } from './figures.ts';

export interface Series extends Metric {
  kind: 'gauge' | 'counter';
  /** In addition to `run` and `scenario`, which all series have. */
  labels: string[];
  /** A value that is not known yet has no sample. */
  read: (figures: LiveFigures) => Sample[];
}

interface Sample {
  labels: Record<string, string>;
  /** In the series' unit. */
  value: number;
}

type Value = number | null | undefined;

export const SERIES: Series[] = [
  gauge('socketio_capacity_connections', 'connections', 'Connected now', ({ connections }) => sample(connections.now)),
  gauge(
    'socketio_capacity_connections_target',
    'connections',
    'Connections that the scenario asks for',
    ({ connections }) => sample(connections.target),
  ),
  gauge('socketio_capacity_connect_rate', 'connections/s', 'Connections made per second', ({ connections }) =>
    sample(connections.ratePerSec),
  ),
  counter(
    'socketio_capacity_failed_total',
    'virtual users',
    'Virtual users that failed',
    ({ connections }) => byCause(connections.failed),
    ['cause'],
  ),
  counter(
    'socketio_capacity_lost_total',
    'connections',
    'Connections that ended before their release',
    ({ connections }) => byCause(connections.lost),
    ['cause'],
  ),
  gauge(
    'socketio_capacity_stage',
    '–',
    'Always 1; the label names the current stage',
    ({ stage }) => sample(1, { stage }),
    ['stage'],
  ),
  counter('socketio_capacity_broadcasts_total', 'broadcasts', 'Broadcasts sent', ({ broadcasts }) =>
    sample(broadcasts.sent),
  ),
  counter('socketio_capacity_receipts_total', 'receipts', 'Broadcasts received by all connections', ({ broadcasts }) =>
    sample(broadcasts.received),
  ),
  counter(
    'socketio_capacity_receipts_expected_total',
    'receipts',
    'Members of the room, over all broadcasts',
    ({ broadcasts }) => sample(broadcasts.expected),
  ),
  gauge(
    'socketio_capacity_sentinel_latency_seconds',
    'seconds',
    'Latency of the latest broadcast at the reference receiver, from the intended send time',
    ({ lastBroadcasts }) => {
      const latest = lastBroadcasts.find(({ sentinelMs }) => sentinelMs !== null);
      return sample(divided(latest?.sentinelMs, 1000));
    },
  ),
  gauge(
    'socketio_capacity_memory_bytes',
    'bytes',
    'Memory of a layer, by kind: rss, pss, used',
    ({ layers, system }) => [
      ...Object.entries(layers).flatMap(([layer, { rssBytes, pssBytes }]) => [
        ...sample(rssBytes, { layer, kind: 'rss' }),
        ...sample(pssBytes, { layer, kind: 'pss' }),
      ]),
      ...sample(system.usedBytes, { layer: 'system', kind: 'used' }),
    ],
    ['layer', 'kind'],
  ),
  gauge(
    'socketio_capacity_cpu_cores',
    'cores',
    'CPU of a layer, in cores',
    ({ layers }) =>
      Object.entries(layers).flatMap(([layer, { cpuPercent }]) => sample(divided(cpuPercent, 100), { layer })),
    ['layer'],
  ),
  gauge('socketio_capacity_machine_cpu_ratio', '0 to 1', 'CPU of the whole machine, 0 to 1', ({ system }) =>
    sample(divided(system.cpuPercent, 100)),
  ),
  gauge(
    'socketio_capacity_event_loop_utilization',
    '0 to 1',
    'Utilization of the event loop over the last second, 0 to 1',
    ({ loops }) => loops.flatMap(({ name, utilization }) => sample(utilization, { loop: name })),
    ['loop'],
  ),
  gauge(
    'socketio_capacity_event_loop_delay_p99_seconds',
    'seconds',
    'Delay of the event loop over the last second, p99',
    ({ loops }) => loops.flatMap(({ name, delayP99Ms }) => sample(divided(delayP99Ms, 1000), { loop: name })),
    ['loop'],
  ),
];

function gauge(name: string, unit: string, help: string, read: Series['read'], labels: string[] = []): Series {
  return { name, kind: 'gauge', unit, help, labels, read };
}

function counter(name: string, unit: string, help: string, read: Series['read'], labels: string[] = []): Series {
  return { name, kind: 'counter', unit, help, labels, read };
}

/** Zero of no cause, so that a rate begins at 0. */
function byCause(counts: Record<string, number>): Sample[] {
  return Object.entries({ '': 0, ...counts }).flatMap(([cause, value]) => sample(value, { cause }));
}

function sample(value: Value, labels: Record<string, string> = {}): Sample[] {
  return typeof value === 'number' ? [{ labels, value }] : [];
}

function divided(value: Value, by: number): Value {
  return typeof value === 'number' ? value / by : undefined;
}
