/** What a connection costs in memory. */
import type { PerConnection, Slope } from '../../protocol/result/memory.ts';
import type { Result } from '../../protocol/result/result.ts';
import { costAmount, costText, splitText } from '../answer/cost.ts';
import { memoryByConnections } from '../charts/memory.ts';
import { memoryOverTime } from '../charts/over-time.ts';
import { familyOf, inOrder, isNothing, layerTitle, mainWorkerLayer, slopeLayers } from '../figures/layers.ts';
import { amount, withUnit } from '../model/amount.ts';
import {
  absentSection,
  type Block,
  type Cell,
  drawing,
  type Finding,
  grid,
  lines,
  type Section,
} from '../model/document.ts';
import { DOUBT_TEXTS, whyNot } from '../statistics/straightness.ts';
import { integer } from '../text/format.ts';
import { NO_SAMPLES } from './parts.ts';

const TITLE = 'Memory';

export function memory(result: Result): Section {
  const { memory: found, absent, verdict } = result;
  const cost = absent.memory === undefined ? found.perConnection : null;
  const findings = finding(result, cost);
  if (absent.memory !== undefined) return { ...absentSection('memory', TITLE, absent.memory), findings };
  const trusted = verdict.status !== 'INVALID';
  const read = found.collected
    ? 'Read at rest in every plateau, after a garbage collection.'
    : 'Read as it is: nobody forced a garbage collection, so garbage is in it.';
  return {
    id: 'memory',
    title: TITLE,
    lead: `${read} What one more connection adds is its cost.`,
    terms: ['perConnection', 'atRest', 'inService', 'layers', 'residual'],
    findings,
    blocks: [
      drawing(memoryByConnections(result), 'Not measured: that takes readings at two or more numbers of connections.'),
      ...(trusted
        ? [...(cost ? split(result, cost) : []), ...byLayer(result)]
        : [lines('absent', ['No cost of a connection, because this measurement cannot be trusted.'])]),
      ...(found.plateaus.length > 0 ? [plateaus(result)] : []),
      drawing(memoryOverTime(result), NO_SAMPLES, true),
      lines('note', absentLayers(result)),
    ],
  };
}

/** After a planned fault, it is not the question, and there are too few plateaus to tell. */
function finding(result: Result, cost: PerConnection | null): Finding[] {
  const { memory: found, absent, fault } = result;
  if (fault) return [];
  const name = 'Memory per connection';
  if (cost) {
    const needed =
      cost.inService === null ? '' : `${withUnit('kilobytes', cost.inService)} with garbage and buffers at the peak`;
    const value = costAmount(cost);
    const garbage = found.collected ? '' : 'garbage included';
    const note = [splitText(cost), garbage, needed, value.value === null ? (value.next ?? '') : ''];
    return [{ text: costText(cost, found.collected), figure: { name, value, note: note.filter(Boolean).join('; ') } }];
  }
  const layer = mainWorkerLayer(found.perConnectionBytes);
  const why = absent.memory ?? found.absent[layer] ?? 'that takes readings at two or more numbers of connections';
  return [{ text: null, figure: { name, value: amount('kilobytes', null), note: why } }];
}

/** The parts of the headline, which add up to it. */
function split({ memory: { collected }, run }: Result, cost: PerConnection): Block[] {
  const { parts, inService, without } = cost;
  const rows: Cell[][] = parts.map((part) => [
    part.title,
    amount('kilobytes', part.bytes),
    amount('kilobytes', part.inService),
  ]);
  const unknown = without.map(({ title, doubt }): Cell[] => [`${title} not known: ${DOUBT_TEXTS[doubt]}`, '–', '–']);
  const head = ['KB per connection', collected ? 'Kept' : 'As it was', 'At the peak, with garbage and buffers'];
  const sockets = run.profile === 'full' ? 'three of the four' : 'one of the two';
  const hasKernel = parts.some(({ title }) => title === 'kernel');
  return [
    grid('What a connection costs this deployment', head, [
      ...rows,
      ...unknown,
      ['together', costAmount(cost), amount('kilobytes', inService)],
    ]),
    lines('note', [
      hasKernel &&
        `The kernel’s part is that of ${sockets} sockets of a connection: the other one is the generator’s, on the same machine.`,
    ]),
  ];
}

function byLayer(result: Result): Block[] {
  const { perConnectionBytes, inService, residualBytes, collected } = result.memory;
  const layers = slopeLayers(result);
  if (layers.length === 0) return [];
  const head = ['KB per connection', collected ? 'At rest' : 'As it was', 'In service', 'Residual, MB', 'Remark'];
  const rows = layers.map((layer) => {
    const slope = perConnectionBytes[layer] as Slope;
    const needed = inService?.perConnectionBytes[layer];
    return [
      layerTitle(result, layer),
      slope.doubt === undefined ? slopeOf(slope) : '–',
      amount('kilobytes', slope.doubt === undefined && needed?.doubt === undefined ? needed?.slope : null),
      amount('megabytes', residualBytes[layer]),
      slope.doubt === undefined ? '' : DOUBT_TEXTS[slope.doubt],
    ];
  });
  return [
    grid('Memory per connection of each layer that was read', head, rows, true),
    lines('note', [...workerSources(result).map((source) => `Source of ${source}.`), ...collectionNotes(result)]),
  ];
}

/** A wide interval is the answer itself. */
function slopeOf(slope: Slope): Cell {
  const { low95, high95 } = slope;
  if (low95 === null || high95 === null) return amount('kilobytes', slope.slope);
  if (whyNot(slope) === undefined) return amount('kilobytes', slope.slope, { low95, high95 });
  return amount('kilobytes', null, { low95: Math.max(0, low95), high95: Math.max(0, high95) });
}

/** @returns whose the workers' figures are, where nobody can ask them: `Workers RSS: /proc of its processes` */
function workerSources(result: Result): string[] {
  const { collected, sources } = result.memory;
  const own = inOrder(result, Object.keys(sources)).filter((layer) => !collected && familyOf(layer) === 'worker');
  return [...Map.groupBy(own, (layer) => sources[layer] as string)].map(
    ([source, layers]) => `${layers.map((layer) => layerTitle(result, layer)).join(', ')}: ${source}`,
  );
}

/** What is to be known of the collections before memory at rest; empty if each was seen to be made. */
function collectionNotes({ memory: { collected, perConnectionBytes, collectionsCounted } }: Result): string[] {
  if (!collected || collectionsCounted || !(mainWorkerLayer(perConnectionBytes) in perConnectionBytes)) return [];
  return ['That the workers collected their garbage is not checked: their version does not count its collections.'];
}

function plateaus(result: Result): Block {
  const { plateaus: found } = result.memory;
  const keys = new Set(found.flatMap((plateau) => Object.keys(plateau)));
  const read = [...keys].filter((key) => key !== 'connections' && !isNothing(result.memory, key));
  return grid(
    'Memory at each plateau',
    ['Connections, MB', ...found.map(({ connections }) => integer(connections))],
    inOrder(result, read).map((layer) => [
      layerTitle(result, layer),
      ...found.map((plateau) => amount('megabytes', plateau[layer])),
    ]),
    true,
  );
}

function absentLayers(result: Result): string[] {
  const byReason = [...Map.groupBy(Object.entries(result.memory.absent), ([, reason]) => reason)];
  return byReason.map(
    ([reason, layers]) => `Not measured: ${layers.map(([layer]) => layerTitle(result, layer)).join(', ')} (${reason}).`,
  );
}
