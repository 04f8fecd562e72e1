/**
 * Table that compares the Techracers study of 2017 with a run of this project. The study had one Socket.IO process,
 * nginx and Redis on a machine with one core and 1 GB.
 */
import type { Result } from '../../../protocol/result/result.ts';
import { costAmount } from '../../../report/answer/cost.ts';
import { broadcastTimesChart } from '../../../report/charts/latency-chart.ts';
import { memoryByConnectionsChart } from '../../../report/charts/memory-chart.ts';
import { cpuOverTimeChart } from '../../../report/charts/over-time-chart.ts';
import { whyNotQuoted } from '../../../report/figures/measured-figures.ts';
import { cellText } from '../../../report/model/amount.ts';
import { chartHtml } from '../../../report/render/blocks.ts';
import { type Html, html } from '../../../report/render/markup.ts';
import {
  decimalsText,
  integerText,
  KB,
  kilobytesText,
  megabytesText,
  millisecondsText,
  textOrDash,
} from '../../../report/text/format.ts';
import { at, figureCell, figureRow, type SideBySide, sideBySide } from '../../figures.ts';

/** Returns the cell of a slope. It is `less than the noise` if reports would not quote the slope. */
const slope = (layer: string) => (result: Result) => {
  const path = `memory.perConnectionBytes.${layer}.slope`;
  return whyNotQuoted(result, path) === undefined ? figureCell([result], path) : 'less than the noise';
};
const plateau = (index: number, layer: string) => (result: Result) =>
  textOrDash(result.memory.plateaus.at(index)?.[layer], megabytesText);
const meanAndMax = (path: (result: Result) => { mean: number; max: number } | null) => (result: Result) => {
  const summary = path(result);
  return summary === null ? '–' : `${millisecondsText(summary.mean)} (max ${millisecondsText(summary.max)})`;
};

export const TECHRACERS: SideBySide = {
  title: 'The Techracers study and our run',
  published: ['The study'],
  rows: [
    [
      'Machine',
      ['1 core, 1 GB, Ubuntu 14.04'],
      ({ environment: { cpuCount, memoryBytes } }) =>
        `${integerText(cpuCount)} cores, ${decimalsText(memoryBytes / KB ** 3, 0)} GB, with the generator`,
    ],
    ['Connections', ['1,800'], at('connections.peak', 'count')],
    ['Connections per second', ['5'], at('connections.achievedRatePerSec', 'perSecond')],
    ['Memory of Node before, MB', ['88 to 90'], plateau(0, 'workerRss')],
    ['with all connections, MB', ['152'], plateau(-1, 'workerRss')],
    ['Memory of the machine before, MB', ['357 to 360'], plateau(0, 'systemHeld')],
    ['with all connections, MB', ['493'], plateau(-1, 'systemHeld')],
    [
      'KB per connection: Node, peak less baseline',
      ['34.8'],
      ({ memory }) => textOrDash(memory.perConnectionBytes.workerRss?.naive, kilobytesText),
    ],
    ['KB per connection: Node, slope at rest', ['not measured'], slope('workerRss')],
    figureRow('memory.perConnectionBytes.redisUsedMemory.slope', ['39.9 (a difference)'], 'KB per connection: Redis'),
    ['KB per connection: nginx', ['not measured'], slope('nginxPss')],
    ['KB per connection: sockets in the kernel, both ends', ['not measured'], slope('kernelSlab')],
    [
      'KB per connection: Node, nginx and the kernel’s part together',
      ['not measured'],
      ({ memory: { perConnection } }) => (perConnection ? cellText(costAmount(perConnection), true) : '–'),
    ],
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

/** Returns the table, and charts of memory, CPU and broadcasts of this project's run. */
export function besideTechracers(run: Result): Html {
  const charts = [memoryByConnectionsChart(run), cpuOverTimeChart(run), broadcastTimesChart(run)];
  return html`${sideBySide(TECHRACERS, [0, run])}${charts.map((chart) => chartHtml(chart, ''))}`;
}
