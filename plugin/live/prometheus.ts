/** Every Prometheus series of a live run: its name, and how its samples are computed from the figures; and all as text. */
import { Counter, Gauge, Registry } from 'prom-client';
import type { Metric } from '../../protocol/metric.ts';
import type { LiveFigures } from './figures.ts';

export interface Series extends Metric {
  kind: 'gauge' | 'counter';
  /** In addition to `run` and `scenario`, which all series have. */
  labels: string[];
  /** One value, or one for each set of labels, in the series' unit; one that is not known yet has no sample. */
  read: (figures: LiveFigures) => Value | Sample[];
}

type Value = number | null | undefined;
type Sample = [labels: Record<string, string>, value: Value];

const PREFIX = 'socketio_capacity_';
const SENTINEL_HELP = 'Latency of the latest broadcast at the reference receiver, from the intended send time';
const EXPECTED_HELP = 'Members of the room, over all broadcasts';

export const SERIES: Series[] = [
  gauge('connections', 'connections', 'Connected now', ({ connections }) => connections.now),
  gauge('connections_target', 'connections', 'Connections that the scenario asks for', (now) => now.connections.target),
  gauge('connect_rate', 'connections/s', 'Connections made per second', ({ connections }) => connections.ratePerSec),
  counter('failed_total', 'virtual users', 'Virtual users that failed', byCause('failed'), ['cause']),
  counter('lost_total', 'connections', 'Connections that ended before their release', byCause('lost'), ['cause']),
  gauge('stage', '–', 'Always 1; the label names the current stage', ({ stage }) => [[{ stage }, 1]], ['stage']),
  counter('broadcasts_total', 'broadcasts', 'Broadcasts sent', ({ broadcasts }) => broadcasts.sent),
  counter('receipts_total', 'receipts', 'Broadcasts received by all connections', (now) => now.broadcasts.received),
  counter('receipts_expected_total', 'receipts', EXPECTED_HELP, ({ broadcasts }) => broadcasts.expected),
  gauge('sentinel_latency_seconds', 'seconds', SENTINEL_HELP, ({ broadcasts }) => scaled(broadcasts.sentinelMs, 1000)),
  gauge('memory_bytes', 'bytes', 'Memory of a layer, by kind: rss, pss, used', memory, ['layer', 'kind']),
  gauge('cpu_cores', 'cores', 'CPU of a layer, in cores', cpuCores, ['layer']),
  gauge('machine_cpu_ratio', '0 to 1', 'CPU of the whole machine, 0 to 1', ({ system }) =>
    scaled(system.cpuPercent, 100),
  ),
  gauge(
    'event_loop_utilization',
    '0 to 1',
    'Utilization of the event loop over the last second, 0 to 1',
    ({ loops }) => loops.map(({ name, utilization }) => [{ loop: name }, utilization]),
    ['loop'],
  ),
  gauge(
    'event_loop_delay_p99_seconds',
    'seconds',
    'Delay of the event loop over the last second, p99',
    ({ loops }) => loops.map(({ name, delayP99Ms }) => [{ loop: name }, delayP99Ms / 1000]),
    ['loop'],
  ),
];

/** @returns the text of `/metrics` */
export async function renderMetrics(figures: LiveFigures): Promise<string> {
  const registry = new Registry();
  registry.setDefaultLabels({ run: figures.run, scenario: figures.scenario });
  for (const { name, kind, help, labels, read } of SERIES) {
    const found = read(figures);
    const samples = Array.isArray(found) ? found : [[{}, found] satisfies Sample];
    const known = samples.flatMap(([labels, value]) => (typeof value === 'number' ? [{ labels, value }] : []));
    // A metric without samples would show as a zero.
    if (known.length === 0) continue;
    const metric = new (kind === 'gauge' ? Gauge : Counter)({ name, help, labelNames: labels, registers: [registry] });
    for (const { labels, value } of known) metric.inc(labels, value);
  }
  return registry.metrics();
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

function memory({ layers, system }: LiveFigures): Sample[] {
  return [
    ...Object.entries(layers).flatMap(([layer, { rssBytes, pssBytes }]): Sample[] => [
      [{ layer, kind: 'rss' }, rssBytes],
      [{ layer, kind: 'pss' }, pssBytes],
    ]),
    [{ layer: 'system', kind: 'used' }, system.usedBytes],
  ];
}

function cpuCores({ layers }: LiveFigures): Sample[] {
  return Object.entries(layers).map(([layer, { cpuPercent }]) => [{ layer }, scaled(cpuPercent, 100)]);
}

/** Zero of no cause, so that a rate begins at 0. */
function byCause(key: 'failed' | 'lost') {
  return ({ connections }: LiveFigures): Sample[] =>
    Object.entries({ '': 0, ...connections[key] }).map(([cause, count]) => [{ cause }, count]);
}

function scaled(value: Value, divisor: number): Value {
  return typeof value === 'number' ? value / divisor : value;
}

function gauge(name: string, unit: string, help: string, read: Series['read'], labels: string[] = []): Series {
  return { name: PREFIX + name, kind: 'gauge', unit, help, labels, read };
}

function counter(...args: Parameters<typeof gauge>): Series {
  return { ...gauge(...args), kind: 'counter' };
}
