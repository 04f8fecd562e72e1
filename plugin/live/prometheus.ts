/** Every Prometheus series of a live run: its name, and how its samples are computed from the figures; and all as text. */
import { Counter, Gauge, Registry } from 'prom-client';
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

const PREFIX = 'socketio_capacity_';
const SENTINEL_HELP = 'Latency of the latest broadcast at the reference receiver, from the intended send time';

export const SERIES: Series[] = [
  gauge('connections', 'connections', 'Connected now', ({ connections }) => sample(connections.now)),
  gauge('connections_target', 'connections', 'Connections that the scenario asks for', ({ connections }) =>
    sample(connections.target),
  ),
  gauge('connect_rate', 'connections/s', 'Connections made per second', ({ connections }) =>
    sample(connections.ratePerSec),
  ),
  counter('failed_total', 'virtual users', 'Virtual users that failed', byCause('failed'), ['cause']),
  counter('lost_total', 'connections', 'Connections that ended before their release', byCause('lost'), ['cause']),
  gauge('stage', '–', 'Always 1; the label names the current stage', ({ stage }) => sample(1, { stage }), ['stage']),
  counter('broadcasts_total', 'broadcasts', 'Broadcasts sent', ({ broadcasts }) => sample(broadcasts.sent)),
  counter('receipts_total', 'receipts', 'Broadcasts received by all connections', ({ broadcasts }) =>
    sample(broadcasts.received),
  ),
  counter('receipts_expected_total', 'receipts', 'Members of the room, over all broadcasts', ({ broadcasts }) =>
    sample(broadcasts.expected),
  ),
  gauge('sentinel_latency_seconds', 'seconds', SENTINEL_HELP, ({ broadcasts }) =>
    sample(broadcasts.sentinelMs, {}, 1000),
  ),
  gauge('memory_bytes', 'bytes', 'Memory of a layer, by kind: rss, pss, used', memory, ['layer', 'kind']),
  gauge(
    'cpu_cores',
    'cores',
    'CPU of a layer, in cores',
    ({ layers }) => Object.entries(layers).flatMap(([layer, { cpuPercent }]) => sample(cpuPercent, { layer }, 100)),
    ['layer'],
  ),
  gauge('machine_cpu_ratio', '0 to 1', 'CPU of the whole machine, 0 to 1', ({ system }) =>
    sample(system.cpuPercent, {}, 100),
  ),
  gauge(
    'event_loop_utilization',
    '0 to 1',
    'Utilization of the event loop over the last second, 0 to 1',
    ({ loops }) => loops.flatMap(({ name, utilization }) => sample(utilization, { loop: name })),
    ['loop'],
  ),
  gauge(
    'event_loop_delay_p99_seconds',
    'seconds',
    'Delay of the event loop over the last second, p99',
    ({ loops }) => loops.flatMap(({ name, delayP99Ms }) => sample(delayP99Ms, { loop: name }, 1000)),
    ['loop'],
  ),
];

/** @returns the text of `/metrics` */
export async function renderMetrics(figures: LiveFigures): Promise<string> {
  const registry = new Registry();
  registry.setDefaultLabels({ run: figures.run, scenario: figures.scenario });
  for (const { name, kind, help, labels, read } of SERIES) {
    const samples = read(figures);
    // A metric without samples would show as a zero.
    if (samples.length === 0) continue;
    const metric = new (kind === 'gauge' ? Gauge : Counter)({ name, help, labelNames: labels, registers: [registry] });
    for (const { labels, value } of samples) metric.inc(labels, value);
  }
  return registry.metrics();
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

function memory({ layers, system }: LiveFigures): Sample[] {
  return [
    ...Object.entries(layers).flatMap(([layer, { rssBytes, pssBytes }]) => [
      ...sample(rssBytes, { layer, kind: 'rss' }),
      ...sample(pssBytes, { layer, kind: 'pss' }),
    ]),
    ...sample(system.usedBytes, { layer: 'system', kind: 'used' }),
  ];
}

/** Zero of no cause, so that a rate begins at 0. */
function byCause(key: 'failed' | 'lost') {
  return ({ connections }: LiveFigures): Sample[] =>
    Object.entries({ '': 0, ...connections[key] }).flatMap(([cause, value]) => sample(value, { cause }));
}

function gauge(name: string, unit: string, help: string, read: Series['read'], labels: string[] = []): Series {
  return { name: PREFIX + name, kind: 'gauge', unit, help, labels, read };
}

function counter(...args: Parameters<typeof gauge>): Series {
  return { ...gauge(...args), kind: 'counter' };
}

function sample(value: Value, labels: Record<string, string> = {}, divisor = 1): Sample[] {
  return typeof value === 'number' ? [{ labels, value: value / divisor }] : [];
}
