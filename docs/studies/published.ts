/** Published studies beside our runs: the figures that each of them prints, and how ours are obtained. */
import type { Result } from '../../protocol/result/result.ts';
import { readingsOverTime } from '../../report/charts/drift.ts';
import { comesAndGoes } from '../../report/figures/held.ts';
import { figure } from '../../report/render/blocks.ts';
import { type Html, html } from '../../report/render/markup.ts';
import { answerOf, pace } from '../../report/sections/over-time.ts';
import { decimals, integer, KB, kilobytes, milliseconds, optional, sizeOf } from '../../report/text/format.ts';
import { at, figureCell, figureRow, type Row, type SideBySide, sideBySide } from '../figures.ts';

const slope = (layer: string) => (result: Result) => figureCell([result], `memory.perConnectionBytes.${layer}.slope`);
const peakRss = ({ memory }: Result) => memory.peakBytes.workerRss;
/** The benchmark report's “theoretical max” is for workers of 2 GiB. */
const BUDGET_BYTES = 2 * KB ** 3;

/**
 * The “Socket.IO Performance Benchmark Report”. Two rows are computed from its figures: the slope is the line through
 * its own table of RSS by connections, and copies are missing from broadcasts × receivers (all but one connection).
 */
const SIZES = [5000, 10_000, 20_000, 32_000];
export const BENCHMARK_REPORT: SideBySide = {
  title: 'The published benchmark report and our runs',
  published: SIZES.map((size) => `the report, ${integer(size)}`),
  rows: [
    ['Configured rate, /s', ['500', '500', '500', '500'], at('connections.configuredRatePerSec', 'count')],
    ['Achieved rate, /s', ['287.97', '291.39', '280.19', '200.08'], at('connections.achievedRatePerSec', 'perSecond')],
    ['Ramp, s', ['17.36', '34.32', '71.38', '159.94'], at('connections.rampSeconds', 'seconds')],
    ['Connect time, mean ms', ['1,094', '1,013', '1,078', '1,552'], at('connections.connectMs.mean', 'milliseconds')],
    [
      'Peak RSS of the workers, MB',
      ['286.0', '379.5', '543.6', '745.7'],
      at('memory.peakBytes.workerRss', 'megabytes'),
    ],
    [
      'Peak ÷ N, KB',
      ['59', '39', '28', '24'],
      (result) => optional(peakRss(result), (peak) => kilobytes(peak / result.connections.peak)),
    ],
    ['Slope, KB', ['21.3', '15.3', '22.6', '19.4'], slope('workerRss')],
    [
      '“Theoretical max”: 2 GiB × N ÷ peak',
      ['35,800', '53,973', '75,355', '87,881'],
      (result) =>
        optional(peakRss(result), (peak) => integer(Math.floor((BUDGET_BYTES * result.connections.peak) / peak))),
    ],
    ['Broadcasts', ['120', '118', '55', '100'], at('delivery.broadcasts', 'count')],
    [
      'Copies missing',
      ['0', '9,999', '19,999', '233,438'],
      ({ delivery }) => (delivery ? integer(delivery.expected - delivery.received) : '–'),
    ],
    ['Delivery as stated, %', ['100', '99.2', '98.2', '77.3'], at('delivery.coverage', 'share')],
    ['Its grade, or our verdict', ['A+', 'A+', 'A+', 'A'], ({ verdict }) => verdict.status],
  ],
};

/** @returns each of the report's sizes that we have a run of, with that run beside it; null if there is none */
export function besideBenchmarkReport(results: Result[]): Html | null {
  const columns = SIZES.flatMap((size, index) => {
    const own = results.find(({ connections }) => connections.target === size);
    return own ? [index, own] : [];
  });
  return columns.length > 0 ? sideBySide(BENCHMARK_REPORT, columns) : null;
}

const meanAndMax = (path: (result: Result) => { mean: number; max: number } | null) => (result: Result) => {
  const summary = path(result);
  return summary === null ? '–' : `${milliseconds(summary.mean)} (max ${milliseconds(summary.max)})`;
};

/** The Techracers study, 2017: one Socket.IO process, nginx and Redis on a machine with one core and 1 GB. */
export const TECHRACERS: SideBySide = {
  title: 'The Techracers study and our runs',
  published: ['The study'],
  rows: [
    ['Connections', ['1,800'], at('connections.peak', 'count')],
    ['Connections per second', ['5'], at('connections.achievedRatePerSec', 'perSecond')],
    [
      'KB per connection: Node, peak less baseline',
      ['34.8'],
      ({ memory }) => optional(memory.perConnectionBytes.workerRss?.naive, kilobytes),
    ],
    ['KB per connection: Node, slope at rest', ['not measured'], slope('workerRss')],
    ['KB per connection: Redis', ['39.9 (a difference)'], slope('redisUsedMemory')],
    ['KB per connection: nginx', ['not measured'], slope('nginxPss')],
    ['KB per connection: kernel, sockets', ['not measured'], slope('kernelSlab')],
    ['KB per connection: whole machine', ['75.7'], slope('systemHeld')],
    [
      'CPU of the workers, s per 1,000 connects',
      ['at most 15.8 (7.9 % at 5/s)'],
      at('cpu.worker.rampSecondsPerThousandConnects', 'cpuSeconds'),
    ],
    ['CPU of the workers while idle, % of a core', ['at most 1.2'], at('cpu.worker.idlePercent', 'percent')],
    [
      'Round trip ÷ 2 under load, ms',
      ['average below 300, none above 2,000'],
      meanAndMax(({ latency }) => latency.roundTripHalfMs.underLoad),
    ],
    [
      'Unloaded round trip ÷ 2, ms',
      ['plotted, no figure'],
      meanAndMax(({ latency }) => latency.roundTripHalfMs.single),
    ],
    ['Every receiver, one way, ms', ['not measured'], meanAndMax(({ latency }) => latency.oneWayMs)],
  ],
};

/** Rounded down: an R² of 1 would mean exactly linear. */
const rSquared = (layer: string) => (result: Result) =>
  optional(result.memory.perConnectionBytes[layer]?.r2, (r2) => decimals(Math.floor(r2 * 1000) / 1000, 3));

/** Socket.IO's page says that memory is linear in the connections, and comes back. */
export const MEMORY_USAGE: SideBySide = {
  title: 'Memory of the workers against connections',
  published: [],
  rows: [
    ['WebSocket engine', [], ({ environment }) => environment.versions.webSocketEngine ?? '–'],
    figureRow('memory.perConnectionBytes.workerRss.slope'),
    ['R²', [], rSquared('workerRss')],
    figureRow('memory.perConnectionBytes.workerHeapUsed.slope'),
    ['R²', [], rSquared('workerHeapUsed')],
    ['Residual RSS, MB', [], at('memory.residualBytes.workerRss', 'megabytes')],
    ['Residual V8 heap, MB', [], at('memory.residualBytes.workerHeapUsed', 'megabytes')],
  ],
};

const driftRow = (title: string, layer: string): Row => [
  title,
  [],
  (result) => {
    const drift = result.memory.overTime?.drift[layer];
    return drift ? `${sizeOf(pace(drift))}: ${answerOf(result, layer)}` : '–';
  },
];

/** @param waves runs whose connections come and go in waves, with garbage collected after each and without */
export function wavesOverTime(waves: Result[]): Html {
  const isCollected = ({ memory }: Result) => memory.overTime?.collected ?? false;
  const collectedFirst = waves.toSorted((a, b) => Number(isCollected(b)) - Number(isCollected(a)));
  const charts = collectedFirst.map((result) => {
    const chart = readingsOverTime(result);
    const title = `${comesAndGoes(result)}, garbage ${isCollected(result) ? 'collected after each' : 'not collected'}`;
    return figure(chart && { ...chart, title }, 'There are no samples.');
  });
  const rows: Row[] = [
    ['Garbage collected after each wave', [], (result) => (isCollected(result) ? 'yes' : 'no')],
    driftRow('RSS of the workers, per wave', 'workerRss'),
    driftRow('V8 heap of the workers, per wave', 'workerHeapUsed'),
  ];
  return html`${charts}${sideBySide({ title: 'What connections leave behind', published: [], rows }, collectedFirst)}`;
}

const worstMs = (values: number[]) => (values.length > 0 ? `${milliseconds(Math.max(...values))} ms` : '–');
const workersOf = ({ connections }: Result) => Object.keys(connections.perWorker).length;
const handlers = ({ messages }: Result) => messages?.workers.flatMap(({ handlerMs }) => handlerMs ?? []) ?? [];
const queues = ({ messages }: Result) => messages?.workers.map(({ queueMs }) => queueMs) ?? [];
const inService = ({ memory }: Result) => memory.inService?.peakBytes.workerRss;

/** Raccoon's table: a collector of events in Go, whose clients send batches. */
export const RACCOON: SideBySide = {
  title: 'Raccoon’s benchmarks and our runs',
  published: ['v0.1.0', 'v0.1.0', 'v0.1.0', 'v0.1.0', 'v0.1.2'].map((version) => `Raccoon ${version}`),
  rows: [
    [
      'Duration',
      ['1 hour', '1 hour', '1 hour', '1 hour', '30 min'],
      ({ messages }) => optional(messages?.window?.seconds, (seconds) => `${integer(seconds)} s`),
    ],
    ['Connections', ['10,000', '50,000', '50,000', '100,000', '10,000'], at('connections.peak', 'count')],
    ['Pods, workers', ['1', '3', '3', '5', '1'], (result) => integer(workersOf(result))],
    [
      'Events per 10 s',
      ['1,500,000', '25,000', '100,000', '100,000', '1,500,000'],
      ({ messages }) => optional(messages?.window?.eventsPerSec, (perSec) => integer(perSec * 10)),
    ],
    [
      'Server processing p95',
      ['~ 6 - 22 ms', '~ 20 - 30 ms', '~ 3 - 5 ms', '~ 3 - 9 ms', '~ 1 - 7.13k ms'],
      (result) => worstMs(handlers(result).map(({ p95 }) => p95)),
    ],
    [
      'Server processing, upper',
      ['~ 3 - 913 ms', '~ 3 s', '~ 2.5 s', '~ 2.5 s', '~ 1 - 7.13k ms'],
      (result) => worstMs(handlers(result).map(({ max }) => max)),
    ],
    [
      'Workers, mean p95',
      ['~ 1.7 - 7 ms', '~ 35 - 50 ms', '~ 20 - 30 ms', '~ 20 - 30 ms', '~ 0.8 - 9.25 ms'],
      () => 'no queue of its own',
    ],
    ['Event loop’s delay p99', [], (result) => worstMs(queues(result).map(({ p99 }) => p99))],
    ['Send to acknowledgement p95, ms', [], at('messages.ackMs.p95', 'milliseconds')],
    [
      'Memory per pod or worker, MB',
      ['711 – 870', '1,000 – 1,500', '400 – 500', '1,700 – 2,000', '960 – 1,200'],
      (result) => optional(inService(result), (bytes) => decimals(bytes / workersOf(result) / KB ** 2, 0)),
    ],
    [
      'Memory ÷ connections, KB',
      ['73 – 89', '61 – 92', '25 – 31', '87 – 102', '98 – 123'],
      (result) => optional(inService(result), (bytes) => kilobytes(bytes / result.connections.peak)),
    ],
    [
      'CPU cores each',
      ['~ 2.2', '~ 0.3 - 0.6', '~ 0.7', '~ 1', '~ 2.57'],
      ({ cpu, messages, ...result }) =>
        optional(cpu.worker?.clientMicrosecondsPerMessage, (us) =>
          messages?.window ? decimals((us * messages.window.sentPerSec) / 1e6 / workersOf(result as Result), 2) : '–',
        ),
    ],
  ],
};
