/** Socket.IO's page on memory usage beside our runs: is memory linear in the connections, and does it come back? */
import type { Result } from '../../protocol/result/result.ts';
import { memoryOverTime } from '../../report/charts/over-time.ts';
import { decimals, integer, kilobytes, megabytes } from '../../report/format.ts';
import type { Html } from '../../report/html/html.ts';
import { dataTable, figure } from '../../report/html/section.ts';
import { optional } from '../../report/markdown/figures.ts';

/** Its charts go up to here. */
const ITS_CONNECTIONS = 10_000;
const HEAD = [
  'Connections',
  'WebSocket engine',
  'Workers RSS per connection, KB',
  'R²',
  'V8 heap per connection, KB',
  'R²',
  'Residual RSS, MB',
  'Residual V8 heap, MB',
];

/** @param results usable ones */
export function linearity(results: Result[]): Html {
  const rows = results.map(({ connections, environment, memory }) => {
    const { workerRss, workerHeapUsed } = memory.perConnectionBytes;
    return [
      integer(connections.peak),
      environment.versions.webSocketEngine ?? '–',
      optional(workerRss?.slope, kilobytes),
      optional(workerRss?.r2, threeDigitsDown),
      optional(workerHeapUsed?.slope, kilobytes),
      optional(workerHeapUsed?.r2, threeDigitsDown),
      optional(memory.residualBytes.workerRss, megabytes),
      optional(memory.residualBytes.workerHeapUsed, megabytes),
    ];
  });
  return dataTable('Memory of the workers against connections', HEAD, rows);
}

/** Of the run whose size is nearest to that page's. */
export function overTime(results: Result[]): Html {
  const distance = ({ connections }: Result) => Math.abs(connections.target - ITS_CONNECTIONS);
  const nearest = results.toSorted((a, b) => distance(a) - distance(b))[0];
  const chart = nearest ? memoryOverTime(nearest) : null;
  if (!nearest || !chart) return figure(null, 'There is no report here yet.');
  return figure({ ...chart, title: `${chart.title}, ${integer(nearest.connections.target)} connections` }, '');
}

/** R² is never rounded up to 1. */
function threeDigitsDown(value: number): string {
  return decimals(Math.floor(value * 1000) / 1000, 3);
}
