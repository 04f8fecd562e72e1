/** Table of the costs of a connection and a message by size, from the reports that differ only in size. */
import { pingIntervalOf } from '../../report/figures/idle-cpu.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { decimals, integer, optional } from '../../report/text/format.ts';
import { figureRow, inMarkdown, type SideBySide, sideBySide } from '../figures.ts';
import { type Report, readReportsBySize } from '../reports/reports.ts';

const MEMORY = ['workerPss', 'workerHeapUsed', 'nginxPss', 'redisUsedMemory', 'kernelSlab'].map(
  (layer) => `memory.perConnectionBytes.${layer}.slope`,
);
const CPU = ['rampSecondsPerThousandConnects', 'broadcastMicrosecondsPerMessage'].flatMap((key) =>
  ['worker', 'nginx', 'redis'].map((layer) => `cpu.${layer}.${key}`),
);

const FIGURES = [
  ...['connections.achievedRatePerSec', 'machine.cpuIdlePercent.ramp', 'machine.cpuIdlePercent.broadcasts'],
  ...[...MEMORY, ...CPU, 'connections.connectMs.p95', 'latency.completionMs.p50'],
];

const GROWTH: SideBySide = {
  title: 'Figures by number of connections',
  published: [],
  rows: [
    ['Processor', [], ({ environment }) => `${environment.cpu}, ${integer(environment.cpuCount)} cores`],
    ['Ping interval, s', [], (result) => optional(pingIntervalOf(result), (ms) => decimals(ms / 1000, 0))],
    ['Workers', [], ({ connections }) => integer(Object.keys(connections.perWorker).length)],
    ...FIGURES.map((path) => figureRow(path)),
  ],
};

/** `table` is HTML. */
export declare const data: { table: string };

export default { watch: ['../reports/*/result.json'], load: () => growth(readReportsBySize()) };

export function growth(reports: Report[]): typeof data {
  return { table: inMarkdown(sideBySide(GROWTH, reports.map(({ result }) => result).filter(isUsable))) };
}
