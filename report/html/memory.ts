/** What a connection costs in memory, layer by layer. */

import type { Slope } from '../../protocol/result/memory.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { LegendEntry } from '../charts/draw.ts';
import { memoryFit } from '../charts/memory-fit.ts';
import { layerExtremes, memoryOverTime } from '../charts/over-time.ts';
import { COLORS } from '../charts/palette.ts';
import { inOrder, isNoise, layerTitle, mainLayers, slopeLayers } from '../figures/layers.ts';
import { DOUBT_TEXTS } from '../statistics/straightness.ts';
import { decimals, integer, megabytes, sizeOf } from '../text/format.ts';
import type { LimitName } from '../text/limit-names.ts';
import { basisOf, collectionNotes, doubts, noCapacity, plateauMemory, workerSources } from '../text/memory-text.ts';
import { limitName, limitNote, noPingLimit } from '../text/ping-text.ts';
import { term } from './definitions.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import {
  absentSection,
  behind,
  dataTable,
  figure,
  legend,
  measured,
  multiples,
  NOT_MEASURED,
  section,
} from './section.ts';
import { interval95 } from './summary.ts';

export function memory(result: Result): Html {
  if (result.absent.memory !== undefined) return absentSection('memory', 'Memory', result.absent.memory);
  const trusted = result.verdict.status !== 'INVALID';
  const chart = memoryOverTime(result);
  return section({
    id: 'memory',
    title: 'Memory',
    lead: html`Memory is read ${result.memory.collected ? term('atRest', 'at rest') : 'as it is, because nobody forced a garbage collection,'} in every plateau. The slope of the line through these points is the ${term('perConnection', 'memory per connection')}. The shaded area is the 95 % confidence band of the line; the dashed line is memory ${term('inService', 'in service')}. See ${term('layers')}.`,
    body: html`${fits(result)}
${
  trusted
    ? behind('Table: memory per connection by layer', perConnection(result))
    : html`<p class="absent">No slopes, because this measurement cannot be trusted.</p>`
}
${sumOfParts(result)}
${behind('Table: memory at each plateau', plateaus(result))}
${behind('Chart: memory over time', figure(chart, 'Not measured: there are no samples.', extremes(result)))}
${absent(result)}`,
  });
}

/** Of all small charts; their colours are those of the layers. */
const FIT_LEGEND: LegendEntry[] = [
  { name: 'At rest: plateaus (circles), their line, and its 95 % band', color: COLORS.muted },
  { name: 'In service', color: COLORS.muted, dash: 'dashed' },
];

/** The table has all layers. */
function fits(result: Result): Html {
  const { memory: found, verdict } = result;
  const charts = mainLayers(result).flatMap((layer) => {
    const chart = memoryFit(result, layer);
    const line = found.perConnectionBytes[layer];
    if (!chart || !line) return [];
    const note = verdict.status === 'INVALID' ? '' : describeLine(line, found.inService?.perConnectionBytes[layer]);
    return [{ chart, caption: layerTitle(result, layer), note }];
  });
  if (charts.length === 0)
    return html`<p class="absent">Not measured: a line needs memory readings at two or more numbers of connections.</p>`;
  return html`${legend({ legend: FIT_LEGEND })}${multiples(charts)}`;
}

function describeLine(line: Slope, needed: Omit<Slope, 'naive'> | undefined): Html {
  if (line.doubt !== undefined) return html`no figure to quote: ${DOUBT_TEXTS[line.doubt]}`;
  const inService = needed && needed.doubt === undefined ? html`; in service ${sizeOf(needed.slope)}` : '';
  return html`${sizeOf(line.slope)} per connection; ${interval95(line)}${inService}`;
}

function perConnection(result: Result): Html | null {
  const { perConnectionBytes, inService, residualBytes } = result.memory;
  const layers = slopeLayers(result);
  if (layers.length === 0) return null;
  const rows = dataTable(
    'Memory per connection by layer',
    [
      term('layers', 'Layer'),
      result.memory.collected ? term('atRest') : plateauMemory(result.memory),
      '95 % interval',
      term('inService'),
      '95 % interval',
      'R²',
      term('naive', 'Naive'),
      html`${term('residual')}, MB`,
    ],
    layers.map((layer): HtmlValue[] => {
      const { slope, low95, high95, r2, naive } = perConnectionBytes[
        layer
      ] as Result['memory']['perConnectionBytes'][string];
      const needed = inService?.perConnectionBytes[layer];
      // Rounded down, so that only a perfect line is 1.
      const straight = decimals(Math.floor(r2 * 1000) / 1000, 3);
      return [
        layerTitle(result, layer),
        sizeOf(slope),
        interval({ low95, high95 }),
        measured(needed?.slope, sizeOf),
        needed ? interval(needed) : NOT_MEASURED,
        straight,
        sizeOf(naive),
        measured(residualBytes[layer], megabytes),
      ];
    }),
  );
  const notes = [
    ...workerSources(result).map((source) => `Source of ${source}.`),
    ...doubts(result).map((doubt) => `Not to be quoted: ${doubt}.`),
    ...collectionNotes(result),
  ];
  return html`${rows}${notes.map((note) => html`<p class="note">${note}</p>`)}`;
}

function interval({ low95, high95 }: { low95: number | null; high95: number | null }): string {
  return low95 === null || high95 === null ? 'none' : `${sizeOf(low95)} to ${sizeOf(high95)}`;
}

/** Whether the layers add up. The machine's total is compared only if its error is smaller than the sum of the parts. */
function sumOfParts(result: Result): Html | null {
  const { sum } = result.memory;
  if (!sum || sum.systemHigh95 === null) return null;
  const { parts, partsPerConnectionBytes, systemPerConnectionBytes, systemLow95, systemHigh95 } = sum;
  const isKnown = systemHigh95 - systemPerConnectionBytes < partsPerConnectionBytes && !isNoise(result, 'systemHeld');
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
export function capacity(result: Result): Html | null {
  const { capacity: found, verdict } = result;
  const { memoryLimited, seedTheoreticalMax, limits } = found;
  if (verdict.status === 'INVALID') return null;
  if (result.absent.memory !== undefined) return absentSection('capacity', 'Capacity', result.absent.memory);
  const rows: HtmlValue[][] = limits.map(({ name, max }) => [
    name === 'pings'
      ? `Limit: CPU of idle connections, ${limitName(result, name)}`
      : (LIMIT_TITLES[name as LimitName] ?? name),
    integer(max),
    limitNote(result, name),
  ]);
  rows.push(
    ...found.unknown.map(({ name, why }) => [LIMIT_TITLES[name as LimitName] ?? name, '–', `not known: ${why}`]),
  );
  const noPings = noPingLimit(result);
  if (noPings !== null) rows.push([LIMIT_TITLES.pings, '–', `not known: ${noPings}`]);
  if (memoryLimited) {
    const { budgetBytes, connections, low95, high95 } = memoryLimited;
    const interval =
      low95 === null || high95 === null ? 'no interval' : `95 % interval ${integer(low95)} to ${integer(high95)}`;
    rows.unshift([
      html`${term('capacity', 'Fit')} into ${megabytes(budgetBytes)} MB of workers`,
      integer(connections),
      `${basisOf(memoryLimited)}; ${interval}`,
    ]);
  }
  const unknown = noCapacity(result);
  if (unknown !== null)
    rows.unshift([term('capacity', 'Fit into the memory budget'), '–', `the workers’ memory: ${unknown}`]);
  rows.push([term('seedMax'), measured(seedTheoreticalMax, integer), 'rule of the published report']);
  return section({
    id: 'capacity',
    title: 'Capacity',
    lead: html`How many connections the fitted line and the known limits would allow. ${term('capacity', 'Not included')} are the CPU of connecting and broadcasting, and the time to reach everybody.`,
    folded: true,
    body: dataTable('Capacity in connections', ['', 'Connections', ''], rows),
  });
}

const LIMIT_TITLES = {
  memoryBudget: 'Limit: memory budget of the workers',
  machineMemory: 'Limit: memory of the machine',
  containerMemory: 'Limit: memory of the container',
  workerFileDescriptors: 'Limit: open files of the workers',
  workerMemory: 'Limit: memory of the workers’ containers',
  workerMachinesMemory: 'Limit: memory of the workers’ machines',
  pings: 'Limit: CPU of idle connections',
} satisfies Record<LimitName, string>;
