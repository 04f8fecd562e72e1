/** What a connection costs in memory, layer by layer. */
import type { Result } from '../../protocol/result.ts';
import type { LimitName } from '../capacity.ts';
import { memoryFit } from '../charts/memory-fit.ts';
import { layerExtremes, memoryOverTime } from '../charts/over-time.ts';
import { decimals, integer, megabytes, sizeOf } from '../format.ts';
import { inOrder, layerTitle, mainLayers } from '../layers.ts';
import { term } from './definitions.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { dataTable, figure, measured, multiples, section } from './section.ts';
import { interval95 } from './summary.ts';

export function memory(result: Result): Html {
  const trusted = result.verdict.status !== 'INVALID';
  const chart = memoryOverTime(result);
  return section({
    id: 'memory',
    title: 'Memory',
    lead: html`Memory is read ${term('atRest', 'at rest')} in every plateau. The slope of the line through these points is the ${term('perConnection', 'memory per connection')}. The shaded area is the 95 % confidence band of the line. See ${term('layers')}.`,
    body: html`${fits(result)}
${trusted ? perConnection(result) : html`<p class="absent">No slopes, because this measurement cannot be trusted.</p>`}
${sumOfParts(result)}
<details><summary>Table: memory at each plateau</summary>${plateaus(result)}</details>
${figure(chart, 'Not measured: there are no samples.', extremes(result))}
${absent(result)}`,
  });
}

/** The table has all layers. */
function fits(result: Result): Html {
  const { memory: found, verdict } = result;
  const charts = mainLayers(result).flatMap((layer) => {
    const chart = memoryFit(result, layer);
    const line = found.perConnectionBytes[layer];
    if (!chart || !line) return [];
    const note = verdict.status === 'INVALID' ? '' : html`${sizeOf(line.slope)} per connection; ${interval95(line)}`;
    return [{ chart, caption: layerTitle(result, layer), note }];
  });
  if (charts.length === 0)
    return html`<p class="absent">Not measured: a line needs memory readings at two or more numbers of connections.</p>`;
  return multiples(charts);
}

function perConnection(result: Result): Html | null {
  const { perConnectionBytes, residualBytes } = result.memory;
  const layers = inOrder(result, Object.keys(perConnectionBytes));
  if (layers.length === 0) return null;
  return dataTable(
    'Memory per connection by layer',
    [term('layers', 'Layer'), 'Slope', '95 % interval', 'R²', term('naive', 'Naive'), html`${term('residual')}, MB`],
    layers.map((layer): HtmlValue[] => {
      const { slope, low95, high95, r2, naive } = perConnectionBytes[
        layer
      ] as Result['memory']['perConnectionBytes'][string];
      const interval = low95 === null || high95 === null ? 'none' : `${sizeOf(low95)} to ${sizeOf(high95)}`;
      // Rounded down, so that only a perfect line is 1.
      const straight = decimals(Math.floor(r2 * 1000) / 1000, 3);
      return [
        layerTitle(result, layer),
        sizeOf(slope),
        interval,
        straight,
        sizeOf(naive),
        measured(residualBytes[layer], megabytes),
      ];
    }),
  );
}

/** Whether the layers add up. The machine's total is compared only if its error is smaller than the sum of the parts. */
function sumOfParts(result: Result): Html | null {
  const { sum } = result.memory;
  if (!sum || sum.systemHigh95 === null) return null;
  const { parts, partsPerConnectionBytes, systemPerConnectionBytes, systemLow95, systemHigh95 } = sum;
  const isKnown = systemHigh95 - systemPerConnectionBytes < partsPerConnectionBytes;
  const interval = interval95({ low95: systemLow95, high95: systemHigh95 });
  const whole = isKnown
    ? html`The memory of the whole machine grew by ${sizeOf(systemPerConnectionBytes)} per connection (${interval}); the difference is ${sizeOf(sum.unexplainedPerConnectionBytes)}.`
    : html`The memory of the whole machine varied too much for a comparison (${interval}), because other programs were running on it.`;
  return html`<p>Together, the layers use ${sizeOf(partsPerConnectionBytes)} per connection (${parts.map((layer) => layerTitle(result, layer)).join(', ')}). ${whole}</p>`;
}

function plateaus(result: Result): Html {
  const { plateaus: found } = result.memory;
  const layers = inOrder(
    result,
    [...new Set(found.flatMap((plateau) => Object.keys(plateau)))].filter((key) => key !== 'connections'),
  );
  return dataTable(
    'Memory at each plateau, in MB',
    ['Layer, MB', ...found.map(({ connections }) => html`${integer(connections)} connections`)],
    layers.map((layer) => [layerTitle(result, layer), ...found.map((plateau) => measured(plateau[layer], megabytes))]),
  );
}

function extremes(result: Result): Html {
  return dataTable(
    'Memory (RSS) of the samples',
    ['Layer, MB', 'First', 'Highest', 'Last'],
    layerExtremes(result, 'rssBytes').map(({ layer, first, highest, last }) => [
      layerTitle(result, layer),
      ...[first, highest, last].map(megabytes),
    ]),
  );
}

function absent(result: Result): Html | null {
  const byReason = [...Map.groupBy(Object.entries(result.memory.absent), ([, reason]) => reason)];
  if (byReason.length === 0) return null;
  return html`<p class="note">Not measured: ${byReason
    .map(([reason, layers]) => `${layers.map(([layer]) => layerTitle(result, layer)).join(', ')} (${reason})`)
    .join('; ')}.</p>`;
}

/** Null for a run that cannot be trusted. */
export function capacity({ capacity: found, verdict }: Result): Html | null {
  const { memoryLimited, seedTheoreticalMax, limits, lowest } = found;
  if (verdict.status === 'INVALID') return null;
  const rows: HtmlValue[][] = limits.map(({ name, max }) => [
    LIMIT_TITLES[name] ?? name,
    integer(max),
    name === lowest ? 'lowest' : '',
  ]);
  if (memoryLimited) {
    const { budgetBytes, connections, low95, high95 } = memoryLimited;
    const interval =
      low95 === null || high95 === null ? 'no interval' : `95 % interval ${integer(low95)} to ${integer(high95)}`;
    rows.unshift([
      html`${term('capacity', 'Fit')} into ${megabytes(budgetBytes)} MB of workers`,
      integer(connections),
      interval,
    ]);
  }
  rows.push([term('seedMax'), measured(seedTheoreticalMax, integer), 'rule of the published report']);
  return section({
    id: 'capacity',
    title: 'Capacity',
    lead: html`How many connections the fitted line and the known limits would allow. ${term('capacity', 'Not included')} are CPU and the time to reach everybody.`,
    body: dataTable('Capacity in connections', ['', 'Connections', ''], rows),
  });
}

const LIMIT_TITLES: Record<string, string> = {
  memoryBudget: 'Limit: memory budget of the workers',
  machineMemory: 'Limit: memory of the machine',
  workerFileDescriptors: 'Limit: open files of the workers',
} satisfies Record<LimitName, string>;
