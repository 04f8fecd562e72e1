/** Socket.IO's page on memory usage beside our runs: is memory linear in the connections, and does it come back? */
import type { Result } from '../../protocol/result/result.ts';
import { readingsOverTime } from '../../report/charts/drift.ts';
import { memoryOverTime } from '../../report/charts/over-time.ts';
import { comesAndGoes } from '../../report/figures/held.ts';
import { layerTitle } from '../../report/figures/layers.ts';
import { dataTable, figure } from '../../report/render/blocks.ts';
import { type Html, html } from '../../report/render/markup.ts';
import { answerOf, pace } from '../../report/sections/over-time.ts';
import { decimals, integer, kilobytes, megabytes, optional, sizeOf } from '../../report/text/format.ts';

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

/** Waves of its size, with a collection after each and without; until there is a report, one wave of the nearest size. */
export function overTime(waves: Result[], results: Result[]): Html {
  const collectedFirst = waves.toSorted((a, b) => Number(isCollected(b)) - Number(isCollected(a)));
  const [first] = collectedFirst;
  if (!first) return singleWave(results);
  const tables = collectedFirst.map((result) =>
    dataTable(
      `What connections leave behind, ${isCollected(result) ? 'garbage collected' : 'garbage not collected'}`,
      ['Workers', `Per wave, ${isCollected(result) ? 'collected' : 'not collected'}`, 'Answer'],
      DRIFT_LAYERS.flatMap((layer) => {
        const drift = result.memory.overTime?.drift[layer];
        return drift ? [[layerTitle(result, layer), sizeOf(pace(drift)), answerOf(result, layer)]] : [];
      }),
    ),
  );
  const charts = collectedFirst.map((result) => {
    const chart = readingsOverTime(result);
    const title = `${comesAndGoes(result)}, garbage ${isCollected(result) ? 'collected after each' : 'not collected'}`;
    return figure(chart && { ...chart, title }, 'There are no samples.');
  });
  return html`${charts}${tables}`;
}

const DRIFT_LAYERS = ['workerRss', 'workerHeapUsed'];

function isCollected({ memory }: Result): boolean {
  return memory.overTime?.collected ?? false;
}

/** Of the run whose size is nearest to that page's. */
function singleWave(results: Result[]): Html {
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
