/** Section on memory per connection. */
import { INSPECTION_METHODS } from '../../protocol/documents/server-runtimes.ts';
import type { MemoryPerConnection, MemorySlope } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { costAmount } from '../answer/cost.ts';
import { memoryByConnectionsChart } from '../charts/memory-chart.ts';
import { memoryOverTimeChart } from '../charts/over-time-chart.ts';
import {
  headlineLayerOf,
  isAlwaysZero,
  layerFamily,
  layersInTableOrder,
  layerTitle,
  slopeLayers,
} from '../figures/layers.ts';
import { isConclusiveCost } from '../figures/per-connection.ts';
import { codePlacesOf } from '../figures/places.ts';
import { amount, withUnit } from '../model/amount.ts';
import {
  absentSection,
  chartBlock,
  figuresTable,
  linesBlock,
  type ReportSection,
  type TableCell,
} from '../model/document.ts';
import { DOUBT_TEXTS, whySlopeNotQuoted } from '../statistics/straightness.ts';
import { integerText } from '../text/format.ts';
import { codePlacesBlocks } from './places-blocks.ts';
import { NO_SAMPLES } from './section-parts.ts';

export function memorySection(result: Result): ReportSection {
  const { memory: found, absent, verdict } = result;
  const cost = absent.memory === undefined ? found.perConnection : null;
  if (absent.memory !== undefined) return absentSection('memory', 'Memory', absent.memory);
  const trusted = verdict.status !== 'INVALID';
  const unread = titlesBy(result, Object.keys(found.absent), found.absent);
  const by = found.inspector
    ? ` by ${INSPECTION_METHODS[found.inspector.runtime].by}, which stopped a process for ${withUnit('milliseconds', found.inspector.longestPauseMs)} at most`
    : '';
  const read = found.collected
    ? `Read at rest in every plateau, after a garbage collection${by}.`
    : 'Read without a forced garbage collection, so it includes garbage.';
  return {
    id: 'memory',
    title: 'Memory',
    lead: `${read} The cost of a connection is what one more adds.`,
    terms: ['Memory per connection', 'At rest', 'In service', 'Layers', 'Residual'],
    blocks: [
      chartBlock(
        memoryByConnectionsChart(result),
        'Not measured: requires readings at two or more numbers of connections.',
      ),
      ...(trusted
        ? [...(cost ? headlineTables(result, cost) : []), ...byLayer(result, cost)]
        : [linesBlock('absent', ['No cost of a connection, because this measurement cannot be trusted.'])]),
      ...places(result),
      plateaus(result),
      linesBlock('note', [outsideLayersText(found)]),
      chartBlock(memoryOverTimeChart(result), NO_SAMPLES, true),
      linesBlock(
        'note',
        unread.map(([reason, titles]) => `Not measured: ${titles} (${reason}).`),
      ),
    ],
  };
}

function places({ memory: found }: Result) {
  const all = codePlacesOf({ memory: found });
  if (all.length === 0) return [];
  const window = found.places?.leftBehind
    ? 'the end of the first wave to that of the last'
    : 'before the first connection to the full target';
  return [
    ...all.flatMap(codePlacesBlocks),
    savingsTable(found.places?.savings),
    linesBlock('note', [
      `By V8’s sampling heap profiler, from ${window}; it raises the CPU of connecting by about a quarter. \`connections.heapprofile\` has the call tree, for Chrome’s DevTools and speedscope.`,
    ]),
  ];
}

const SAVINGS = {
  'first-request': 'discard the first HTTP request, which Engine.IO keeps',
  compression: 'turn off per-message deflate, with its buffers outside the heap',
  ws: 'another WebSocket server than `ws`: at most, less its own memory',
};

function savingsTable(savings: NonNullable<Result['memory']['places']>['savings'] = []) {
  return figuresTable(
    'Documented savings',
    ['Change', 'KB per connection', 'See'],
    savings.map(({ name, bytes, url }): TableCell[] => [SAVINGS[name], amount('kilobytes', bytes), url]),
  );
}

const OUTSIDE_LAYERS = { shared: 'shared memory', programs: 'other programs', kernel: 'the kernel' };

/**
 * Returns a text with upper limits of the memory outside all layers. Leaves out limits that exceed the memory per
 * connection.
 */
function outsideLayersText({ balance, perConnection }: Result['memory']): string | null {
  const bounds = (balance?.parts ?? []).flatMap(({ part, high95, isSignificant }) =>
    isSignificant || high95 === null || high95 > (perConnection?.bytes ?? 0)
      ? []
      : `${withUnit('kilobytes', Math.max(0, high95))} in ${OUTSIDE_LAYERS[part]}`,
  );
  return bounds.length === 0 ? null : `Memory that no layer includes, per connection: at most ${bounds.join(', ')}.`;
}

/** Returns tables of the parts that add up to the headline figure. */
function headlineTables(result: Result, cost: MemoryPerConnection) {
  const { run, memory } = result;
  const { collected, inspector } = memory;
  const { parts, without, unread } = cost;
  const isKnown = isConclusiveCost(cost);
  const needed = (bytes: number | null) => amount('kilobytes', isKnown ? bytes : null);
  const rows: TableCell[][] = parts.map((part) => [
    part.title,
    isKnown ? amount('kilobytes', part.bytes) : slopeOf({ ...part, slope: part.bytes }),
    needed(part.inService),
  ]);
  const unknown = [
    ...without.map(({ title, doubt }) => `${title} unknown: ${DOUBT_TEXTS[doubt]}`),
    ...unread.map((title) => `${title} could not be read`),
  ].map((text): TableCell[] => [text, '–', '–']);
  const head = ['KB per connection', collected ? 'Kept' : 'As read', 'In service'];
  const together = ['together', costAmount(cost, result), needed(cost.inService)];
  const sockets = run.profile === 'full' ? 'three of the four' : 'one of the two';
  const workers = parts.find(({ layer }) => layer === 'workerKept');
  const native = isKnown && workers?.native;
  const runtime = inspector?.runtime ?? 'v8';
  const hasKernel = parts.some(({ title }) => title === 'kernel');
  return [
    figuresTable('What a connection costs this deployment', head, [...rows, ...unknown, together]),
    linesBlock('note', [
      workers &&
        `The workers’ part is what ${INSPECTION_METHODS[runtime].counted}${native ? `, and ${withUnit('kilobytes', native)} of native memory beyond it` : ''}. ${runtime === 'v8' ? 'Its interval also covers native memory. Pages (PSS) rise by less while connections fill room that the warm-up has left' : 'RSS also has garbage'}.`,
      hasKernel &&
        `The kernel’s part has ${sockets} sockets of a connection: the other one is the generator’s, on the same machine.`,
    ]),
  ];
}

/**
 * Returns the table of layers. The rows of proxy and kernel contain the parts of the headline figure. Therefore, the
 * kernel's row has only the deployment's share.
 */
function byLayer(result: Result, cost: MemoryPerConnection | null) {
  const { perConnectionBytes, inService, residualBytes, collected } = result.memory;
  const head = ['KB per connection', collected ? 'At rest' : 'As read', 'In service', 'Residual, MB'];
  const ofGenerator = result.memory.layers.flatMap(({ id, belongsTo }) => (belongsTo === 'generator' ? id : []));
  const layers = slopeLayers(result).filter((id) => !ofGenerator.includes(id));
  const rows = withoutDuplicateLayers(result, layers).map((layer) => {
    const part = cost?.parts.find((one) => one.title !== 'workers' && one.layer === layer);
    const read = perConnectionBytes[layer] as MemorySlope;
    const slope = part ? { ...read, ...part, slope: part.bytes } : read;
    const inUse = inService?.perConnectionBytes[layer];
    const needed = part ? part.inService : inUse?.doubt === undefined ? inUse?.slope : null;
    return [
      part?.title === 'kernel' ? part.title : layerTitle(result, layer),
      slope.doubt === 'miscounted' ? '–' : slopeOf(slope),
      amount('kilobytes', slope.doubt === undefined ? needed : null),
      amount('megabytes', residualBytes[layer]),
    ];
  });
  const doubts = layers.flatMap((layer) => {
    const { doubt } = perConnectionBytes[layer] as MemorySlope;
    return doubt === undefined ? [] : [`${layerTitle(result, layer)}: ${DOUBT_TEXTS[doubt]}.`];
  });
  return [
    figuresTable('Memory per connection of each layer', head, rows, true),
    linesBlock('note', [...doubts, ...workerSources(result)]),
  ];
}

/** Removes RSS of layers that also have PSS, unless the headline figure uses RSS. result.json has both. */
function withoutDuplicateLayers(result: Result, ids: string[]): string[] {
  const pages = ids.filter((id) => !id.endsWith('Rss') || !ids.includes(id.replace(/Rss$/, 'Pss')));
  return pages.map((id) => headlineLayerOf(result, id));
}

/** Returns a cell with the slope of memory and its interval. A wide interval replaces the slope. */
function slopeOf(line: Omit<MemorySlope, 'naive' | 'r2'>): TableCell {
  const { slope, low95, high95 } = line;
  if (low95 === null || high95 === null) return amount('kilobytes', slope);
  if (whySlopeNotQuoted(line) === undefined) return amount('kilobytes', slope, { low95, high95 });
  return amount('kilobytes', null, { low95: Math.max(0, low95), high95: Math.max(0, high95) });
}

/** Groups layers that have the same text, such as `[reason, 'Workers PSS, nginx PSS']`. */
function titlesBy(result: Result, layers: string[], texts: Record<string, string>): [text: string, titles: string][] {
  const groups = Map.groupBy(layers, (layer) => texts[layer] as string);
  return [...groups].map(([text, all]) => [text, all.map((layer) => layerTitle(result, layer)).join(', ')]);
}

/** Lists the sources of the workers' figures, if the workers do not report them themselves. */
function workerSources(result: Result): string[] {
  const { collected, sources } = result.memory;
  const own = layersInTableOrder(result, Object.keys(sources)).filter(
    (layer) => !collected && layerFamily(layer) === 'worker',
  );
  return titlesBy(result, own, sources).map(([source, titles]) => `Source of ${titles}: ${source}.`);
}

function plateaus(result: Result) {
  const { plateaus: found } = result.memory;
  const keys = new Set(found.flatMap((plateau) => Object.keys(plateau)));
  const read = [...keys].filter((key) => key !== 'connections' && !isAlwaysZero(result.memory, key));
  const rows = layersInTableOrder(result, withoutDuplicateLayers(result, read)).map((layer) => [
    layerTitle(result, layer),
    ...found.map((plateau) => amount('megabytes', plateau[layer])),
  ]);
  const head = ['Connections, MB', ...found.map(({ connections }) => integerText(connections))];
  return figuresTable('Memory at each plateau', head, rows, true);
}
