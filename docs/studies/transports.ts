/** The studies of transports and compression: what each kind of client costs, and what another one saves. */
import type { Result } from '../../protocol/result/result.ts';
import { countBars } from '../../report/charts/bars.ts';
import type { Chart } from '../../report/charts/chart.ts';
import { decimals, kilobytes, milliseconds } from '../../report/text/format.ts';
import { at, type Column, column, slope, spreadIn, tenths } from './columns.ts';
import { combinationsIn, isOn } from './combinations.ts';
import type { MeasuredStudy } from './measured.ts';

const LAYERS = [
  ['worker', 'Workers’'],
  ['nginx', 'nginx’'],
  ['fleet', 'Generator’s'],
] as const;

export const COLUMNS: Column[] = [
  ...LAYERS.map(([layer, name]) =>
    column(`${name} CPU per 1,000 connects, s`, `cpu.${layer}.rampSecondsPerThousandConnects`, tenths(2)),
  ),
  ...LAYERS.map(([layer, name]) =>
    column(`${name} CPU per copy, µs`, `cpu.${layer}.broadcastMicrosecondsPerMessage`, tenths(1)),
  ),
  slope('workerPss', 'Workers’ PSS'),
  slope('nginxPss', 'nginx’ PSS'),
  column('Connect p50, ms', 'connections.connectMs.p50', milliseconds),
  column('Connect p99, ms', 'connections.connectMs.p99', milliseconds),
  column('One way p50, ms', 'latency.oneWayMs.p50', milliseconds),
  column('Last receiver p50, ms', 'latency.completionMs.p50', milliseconds),
  column('Coverage', 'delivery.coverage', tenths(4)),
];

/** What the deployment's processes take, without the generator; null unless both are known. */
const CONNECT_SECONDS = sumOf('cpu.worker.rampSecondsPerThousandConnects', 'cpu.nginx.rampSecondsPerThousandConnects');
const COPY_MICROSECONDS = sumOf(
  'cpu.worker.broadcastMicrosecondsPerMessage',
  'cpu.nginx.broadcastMicrosecondsPerMessage',
);
const CONNECTION_BYTES = sumOf('memory.perConnectionBytes.workerPss.slope', 'memory.perConnectionBytes.nginxPss.slope');

interface Clients {
  name: string;
  /** Usable runs, at least one. */
  results: Result[];
}

/** @returns the combinations of a study that have a usable run, in its order */
export function clientsOf(measured: MeasuredStudy): Clients[] {
  return combinationsIn(measured).flatMap(({ levels, results }) =>
    results.length === 0 ? [] : [{ name: nameOf(levels), results }],
  );
}

/** What each kind of client costs workers and nginx, against the first of the study. */
export function answerOf(clients: Clients[]): string[] {
  const [first, ...others] = clients;
  if (!first) return [];
  const costs = ({ results }: Clients, against?: Clients) => {
    const part = (value: Column['value'], text: (value: number) => string) => {
      const mean = spreadIn({ value }, results)?.mean;
      const reference = against && spreadIn({ value }, against.results)?.mean;
      if (mean === undefined) return [];
      return [
        `${text(mean)}${reference === undefined || reference <= 0 ? '' : ` (${decimals(mean / reference, 2)} ×)`}`,
      ];
    };
    return [
      ...part(CONNECT_SECONDS, (value) => `${decimals(value, 2)} s of CPU per 1,000 connects`),
      ...part(COPY_MICROSECONDS, (value) => `${decimals(value, 1)} µs per copy of a broadcast`),
      ...part(CONNECTION_BYTES, (value) => `${kilobytes(value)} KB per connection`),
    ].join(', ');
  };
  return [
    `Workers and nginx together take, with ${first.name}: ${costs(first)}.`,
    ...others.map((one) => `With ${one.name}: ${costs(one, first)}.`),
  ];
}

/** @returns CPU of workers and nginx for a connect, as bars */
export function connectChart(clients: Clients[]): Chart | null {
  const bars = clients.flatMap(({ name, results }) => {
    const seconds = spreadIn({ value: CONNECT_SECONDS }, results)?.mean;
    return seconds === undefined ? [] : [[name, seconds * 1000]];
  });
  return countBars('CPU of workers and nginx per connect, µs', Object.fromEntries(bars));
}

function nameOf(levels: Record<string, unknown>): string {
  const { TRANSPORTS: transports, TLS: tls, COMPRESSION: compression } = levels;
  const kind =
    transports === 'default'
      ? 'polling, then WebSocket'
      : transports === 'polling'
        ? 'polling alone'
        : 'WebSocket only';
  return `${kind}${isOn(tls) ? ' over TLS' : ''}${isOn(compression) ? ' with compression' : ''}`;
}

function sumOf(...paths: string[]): Column['value'] {
  const values = paths.map(at);
  return (result) => values.reduce<number | null>((sum, value) => add(sum, value(result)), 0);
}

function add(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other;
}
