/**
 * Tables that compare Socket.IO's page on memory usage with runs of this project: memory per connection for each
 * WebSocket server, and memory that remains after connections close.
 */
import type { Result } from '../../../protocol/result/result.ts';
import { driftText } from '../../../report/answer/over-time-line.ts';
import { memoryReadingsChart } from '../../../report/charts/over-time-chart.ts';
import { turnoverText } from '../../../report/figures/held.ts';
import { figuresTable } from '../../../report/model/document.ts';
import { chartHtml, tableHtml } from '../../../report/render/blocks.ts';
import { type Html, html } from '../../../report/render/markup.ts';
import { driftRate } from '../../../report/sections/over-time-section.ts';
import { decimalsText, sizeText, textOrDash } from '../../../report/text/format.ts';
import { at, figureCell, figureRow, figureTitle, type Row, type SideBySide, sideBySide } from '../../figures.ts';
import type { MeasuredStudy } from '../page.ts';

/** Formats R². It is rounded down, because 1 would mean exactly linear. */
const rSquared = (layer: string) => (result: Result) =>
  textOrDash(result.memory.perConnectionBytes[layer]?.r2, (r2) => decimalsText(Math.floor(r2 * 1000) / 1000, 3));

export const MEMORY_USAGE: SideBySide = {
  title: 'Memory of the workers against connections',
  published: [],
  rows: [
    figureRow('memory.perConnectionBytes.workerRss.slope'),
    ['R²', [], rSquared('workerRss')],
    figureRow('memory.perConnectionBytes.workerHeapUsed.slope'),
    ['R²', [], rSquared('workerHeapUsed')],
    ['Residual RSS, MB', [], at('memory.residualBytes.workerRss', 'megabytes')],
    ['Residual V8 heap, MB', [], at('memory.residualBytes.workerHeapUsed', 'megabytes')],
  ],
};

/**
 * V8 heap per connection for Socket.IO 4.7.2 and Node 20.3. The values were read from the page's chart, to about 0.1
 * KB.
 */
const CHART: Record<string, [server: string, version: string, heapKb: string]> = {
  ws: ['Socket.IO on ws', 'ws 8.11.0', '9.3'],
  eiows: ['Socket.IO on eiows', 'eiows 6.7.2', '6.0'],
  'uWebSockets.js': ['Socket.IO on µWebSockets.js', 'uWebSockets.js 20.33.0', '5.6'],
  'plain-ws': ['ws without Socket.IO', 'ws 8.11.0', '4.1'],
};

const HEAP = 'memory.perConnectionBytes.workerHeapUsed.slope';
const PSS = 'memory.perConnectionBytes.workerPss.slope';

/** @param study measured study of scenarios/studies/websockets.yml */
export function byWebSocketServer({ runs }: MeasuredStudy): Html {
  const rows = Object.entries(CHART).map(([level, printed]) => {
    const own = runs.flatMap(({ levels, result }) => (levels.CAPACITY_WEBSOCKETS === level ? (result ?? []) : []));
    const version = own[0]?.environment.versions.webSocketEngine ?? '–';
    return [...printed, version, figureCell(own, HEAP), figureCell(own, PSS)];
  });
  const head = ['', 'The page, 10,000', 'V8 heap, KB', 'us, 10,000', figureTitle(HEAP), figureTitle(PSS)];
  return tableHtml(figuresTable('Memory per connection of each WebSocket server', head, rows));
}

const driftRow = (title: string, layer: string): Row => [
  title,
  [],
  (result) => {
    const drift = result.memory.overTime?.drift[layer];
    return drift ? `${sizeText(driftRate(drift))}: ${driftText(result, layer)}` : '–';
  },
];

/** @param waves runs whose clients connect and disconnect in waves; some have a garbage collection after each wave */
export function wavesOverTime(waves: Result[]): Html {
  const isCollected = ({ memory }: Result) => memory.overTime?.collected ?? false;
  const collectedFirst = waves.toSorted((a, b) => Number(isCollected(b)) - Number(isCollected(a)));
  const charts = collectedFirst.map((result) => {
    const chart = memoryReadingsChart(result);
    const title = `${turnoverText(result)}, garbage ${isCollected(result) ? 'collected after each' : 'not collected'}`;
    return chartHtml(chart && { ...chart, title }, 'There are no samples.');
  });
  const rows: Row[] = [
    ['Garbage collected after each wave', [], (result) => (isCollected(result) ? 'yes' : 'no')],
    [
      'Waves',
      [],
      ({ memory: { overTime } }) =>
        Object.values(overTime?.drift ?? {}).every(({ perSecond }) => perSecond === null)
          ? 'of one size, evenly spaced (an earlier `waves.yml`): cannot tell a leak per connection from one in time'
          : 'of different sizes, as in `waves.yml`',
    ],
    driftRow('RSS of the workers, per wave', 'workerRss'),
    driftRow('V8 heap of the workers, per wave', 'workerHeapUsed'),
  ];
  return html`${charts}${sideBySide({ title: 'What connections leave behind', published: [], rows }, collectedFirst)}`;
}
