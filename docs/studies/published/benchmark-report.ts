/**
 * Tables that compare the “Socket.IO Performance Benchmark Report” with runs of this project at the same sizes. Two
 * rows are computed from the report's figures. The slope is fitted to its table of RSS by connections. The missing
 * copies follow from broadcasts × receivers, which are all connections but one.
 */
import type { Result } from '../../../protocol/result/result.ts';
import { chartPoints } from '../../../report/charts/plot.ts';
import { figuresTable } from '../../../report/model/document.ts';
import { tableHtml } from '../../../report/render/blocks.ts';
import { type Html, html } from '../../../report/render/markup.ts';
import {
  decimalsText,
  integerText,
  KB,
  kilobytesText,
  megabytesText,
  percentOf,
  textOrDash,
} from '../../../report/text/format.ts';
import { at, figureRow, type Row, type SideBySide, sideBySide } from '../../figures.ts';

const SIZES = [5000, 10_000, 20_000, 32_000];
/** Memory limit of a worker in the report's “theoretical max”. */
const BUDGET_BYTES = 2 * KB ** 3;

const same = (cell: string) => SIZES.map(() => cell);
const NOT_STATED = same('not stated');
const published = SIZES.map((size) => `the report, ${integerText(size)}`);

const peakRss = ({ memory }: Result) => memory.peakBytes.workerRss;
const theoreticalMax = (result: Result) =>
  textOrDash(peakRss(result), (peak) => integerText(Math.floor((BUDGET_BYTES * result.connections.peak) / peak)));
const utilisation = (result: Result) =>
  textOrDash(peakRss(result), (peak) => percentOf(peak, BUDGET_BYTES).replace(' %', ''));

/**
 * Returns the row of payload bytes, the report's “data”. In the report, 1 MB is a million bytes, and 1 KB is 1,024
 * bytes.
 */
function payload(times: 'broadcasts' | 'received', text: (bytes: number, result: Result) => string): Row[2] {
  return (result) => {
    const { bytes } = (result.environment.settings.broadcasts ?? {}) as { bytes?: number };
    return result.delivery && bytes !== undefined ? text(bytes * result.delivery[times], result) : '–';
  };
}
const inMegabytes = (bytes: number) => decimalsText(bytes / 1e6, 2);

/** Rows whose published value is the same for all sizes. */
const MACHINE: [name: string, printed: string, ours: (result: Result) => string][] = [
  [
    'Processor',
    'Apple M1, 8 cores',
    ({ environment }) => `${environment.cpu}, ${integerText(environment.cpuCount)} cores`,
  ],
  ['Memory', '16 GB', ({ environment }) => `${decimalsText(environment.memoryBytes / KB ** 3, 0)} GB`],
  ['Storage', 'SSD of 256 GB, 50.57 GB free', () => 'plays no part: messages are not stored'],
  ['System', 'macOS (Darwin 25.0.0), ARM64', ({ environment }) => environment.kernel],
  [
    'Open files per process',
    '1,048,575',
    ({ environment }) => textOrDash(environment.limits.openFilesHard, integerText),
  ],
];

function machineTable(results: Result[]): Html {
  const rows = MACHINE.map(([name, printed, ours]) => [name, printed, [...new Set(results.map(ours))].join('; ')]);
  return tableHtml(figuresTable('Hardware and limits', ['', 'the report', 'us'], rows));
}

export const BENCHMARK_REPORT: SideBySide = {
  title: 'The published benchmark report and our runs',
  published,
  rows: [
    ['Connections', SIZES.map(integerText), at('connections.peak', 'count')],
    ['Configured rate, /s', same('500'), at('connections.configuredRatePerSec', 'count')],
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
      (result) => textOrDash(peakRss(result), (peak) => kilobytesText(peak / result.connections.peak)),
    ],
    figureRow('memory.perConnectionBytes.workerRss.slope', ['21.3', '15.3', '22.6', '19.4'], 'Slope, KB'),
    ['“Theoretical max”: 2 GiB × N ÷ peak', ['35,800', '53,973', '75,355', '87,881'], theoreticalMax],
    ['“Utilization”: N ÷ that, %', ['14', 'not stated', '26.5', '36.4'], utilisation],
    ['Broadcasts', ['120', '118', '55', '100'], at('delivery.broadcasts', 'count')],
    ['Copies received', ['599,880', '1,169,883', '1,079,946', '2,966,462'], at('delivery.received', 'count')],
    [
      'Copies missing',
      ['0', '9,999', '19,999', '233,438'],
      ({ delivery }) => (delivery ? integerText(delivery.expected - delivery.received) : '–'),
    ],
    ['Delivery as stated, %', ['100', '99.2', '98.2', '77.3'], at('delivery.coverage', 'share')],
    ['Payload sent, MB', ['0.60', '0.60', 'not stated', 'not stated'], payload('broadcasts', inMegabytes)],
    ['Payload received, MB', ['2,998.8', '5,998.2', 'not stated', 'not stated'], payload('received', inMegabytes)],
    [
      'Payload per connection, KB',
      ['585.7', '585.76', '585.79', '452.56'],
      payload('received', (bytes, { connections }) => kilobytesText(bytes / connections.peak)),
    ],
    figureRow('cpu.worker.rampSecondsPerThousandConnects', NOT_STATED),
    figureRow('cpu.worker.broadcastMicrosecondsPerMessage', NOT_STATED),
    ['Its grade, or our verdict', ['A+', 'A+', 'A+', 'A'], ({ verdict }) => verdict.status],
  ],
};

/** RSS of the report's server in MB, by number of connections, with a column per size. */
const RSS: [connections: number, ...mb: string[]][] = [
  [0, '125.78', '201.55', '87.30', '125.50'],
  [1000, '136.36', '166.48', '–', '–'],
  [2500, '169.86', '175.50', '–', '–'],
  [4000, '210.86', '194.84', '–', '–'],
  [5000, '222.53', '211.38', '–', '–'],
  [6000, '–', '–', '238.98', '–'],
  [6500, '–', '240.47', '–', '–'],
  [8000, '–', '293.30', '–', '280.53'],
  [9500, '–', '308.77', '–', '–'],
  [10_000, '–', '318.28', '–', '–'],
  [10_309, '–', '–', '340.03', '–'],
  [12_000, '–', '–', '–', '340.36'],
  [15_000, '–', '–', '411.09', '411.09'],
  [20_000, '–', '–', '541.14', '541.14'],
  [29_677, '–', '–', '–', '658.11'],
  [32_000, '–', '–', '–', '745.70'],
];

/** Returns the RSS of this project's workers, interpolated linearly between plateaus. */
function rssAt({ memory }: Result, connections: number): string {
  const all = chartPoints(memory.plateaus, (plateau) => [plateau.connections, plateau.workerRss]);
  const read = all.toSorted(([a], [b]) => a - b);
  const above = read.find(([count]) => count >= connections);
  const below = read.findLast(([count]) => count <= connections);
  if (!above || !below) return '–';
  const share = above[0] === below[0] ? 0 : (connections - below[0]) / (above[0] - below[0]);
  return megabytesText(below[1] + share * (above[1] - below[1]));
}

export const RSS_BY_CONNECTIONS: SideBySide = {
  title: 'RSS of the workers by connections, MB',
  published,
  rows: RSS.map(
    ([connections, ...printed]): Row => [
      integerText(connections),
      printed,
      (result) => (printed[SIZES.indexOf(result.connections.target)] === '–' ? '–' : rssAt(result, connections)),
    ],
  ),
};

/**
 * Receivers of incomplete broadcasts, among the ten broadcasts that the report lists for each size: size → broadcast →
 * receivers.
 */
const INCOMPLETE: Record<number, Record<number, number>> = {
  20000: { 3: 19_600, 7: 19_600 },
  32000: { 6: 31_500, 7: 29_900, 8: 27_700, 9: 26_000, 10: 24_700 },
};

/** Returns the coverage, such as `19,600 of 19,999: 98.00 %`. */
const coverage = (received: number, expected: number) =>
  `${integerText(received)} of ${integerText(expected)}: ${percentOf(received, expected)}`;

export const COVERAGE_BY_BATCH: SideBySide = {
  title: 'Members that received each broadcast',
  published,
  rows: Array.from({ length: 10 }, (_, index): Row => {
    const batch = index + 1;
    return [
      integerText(batch),
      // Every connection except the sender receives a copy.
      SIZES.map((size) => coverage(INCOMPLETE[size]?.[batch] ?? size - 1, size - 1)),
      ({ delivery }) => {
        const found = delivery?.batches.find(({ seq }) => seq === batch);
        return found ? coverage(found.received, found.expected) : '–';
      },
    ];
  }),
};

/** Returns the tables for sizes that were measured; null if none was. */
export function besideBenchmarkReport(results: Result[]): Html | null {
  const columns = SIZES.flatMap((size, index) => {
    const own = results.find(({ connections }) => connections.target === size);
    return own ? [index, own] : [];
  });
  if (columns.length === 0) return null;
  const folded = [RSS_BY_CONNECTIONS, COVERAGE_BY_BATCH].map(
    (table) => html`<details><summary>${table.title}</summary>${sideBySide(table, columns)}</details>`,
  );
  const own = columns.filter((column) => typeof column !== 'number');
  return html`${machineTable(own)}${sideBySide(BENCHMARK_REPORT, columns)}${folded}`;
}
