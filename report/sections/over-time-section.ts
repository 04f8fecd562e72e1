/** Section on memory over time: waves or churn of connections, and memory that remains after they close. */
import type { MemoryDrift, OverTimeResult } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { driftText, UNKNOWN_DRIFT } from '../answer/over-time-line.ts';
import { memoryOverTimeChart, memoryReadingsChart } from '../charts/over-time-chart.ts';
import { layersInTableOrder, layerTitle } from '../figures/layers.ts';
import { driftsBesideWorkers, WORKER_FIGURES } from '../figures/memory-leaks.ts';
import { amount } from '../model/amount.ts';
import {
  absentSection,
  chartBlock,
  factsTable,
  linesBlock,
  type ReportBlock,
  type ReportSection,
} from '../model/document.ts';
import { countText, integerText } from '../text/format.ts';
import { NO_SAMPLES } from './section-parts.ts';

const TITLE = 'Memory over time';
/** Returns the section on memory over time. It replaces the section on memory per connection. */
export function overTimeSection(result: Result, found: OverTimeResult): ReportSection {
  if (result.absent.memory !== undefined) return absentSection('memory', TITLE, result.absent.memory);
  const trusted = result.verdict.status !== 'INVALID';
  return {
    id: 'memory',
    title: TITLE,
    lead: `Memory was read ${found.kind === 'waves' ? 'after all connections of a wave had closed' : 'while connections opened and closed'}, ${found.collected ? 'after a forced garbage collection' : 'without a forced garbage collection: what grows may be garbage'}.`,
    terms: ['What connections leave behind', 'Layers'],
    blocks: [
      chartBlock(memoryReadingsChart(result), NO_SAMPLES),
      trusted
        ? drifts(result, found)
        : linesBlock('absent', ['No answer, because this measurement cannot be trusted.']),
      linesBlock('note', [note(found)]),
      chartBlock(memoryOverTimeChart(result), NO_SAMPLES, true),
    ],
  };
}

/** Returns how memory changed in bytes per wave, or per hour for runs without waves. */
export function driftRate({ bytesPerWave, bytesPerHour }: MemoryDrift): number {
  return bytesPerWave ?? bytesPerHour;
}

/**
 * Lists how the memory of layers changed: the main layers, the layers of the workers' answer, and the generator's
 * layers.
 */
function drifts(result: Result, { drift, kind }: OverTimeResult): ReportBlock {
  const ids = [...WORKER_FIGURES, ...driftsBesideWorkers(result).map(({ layer }) => layer)];
  const layers = layersInTableOrder(result, Object.keys(drift)).filter((id) => {
    if (ids.includes(id)) return true;
    const layer = result.memory.layers.find((one) => one.id === id);
    return layer?.belongsTo === 'generator' ? /Rss$/.test(id) : layer?.belongsTo === 'deployment' && layer.main;
  });
  if (layers.length === 0) return linesBlock('absent', [`What connections leave behind is ${UNKNOWN_DRIFT}.`]);
  const per = kind === 'waves' ? 'per wave' : 'per hour';
  return factsTable(
    `What connections leave behind, ${per}`,
    layers.map((layer) => [
      layerTitle(result, layer),
      amount('size', driftRate(drift[layer] as MemoryDrift)),
      driftText(result, layer),
    ]),
  );
}

function note({ readings: read, warmUpReadings }: OverTimeResult): string {
  const left = warmUpReadings === 1 ? 'reading is' : `${integerText(warmUpReadings)} readings are`;
  const first = warmUpReadings > 0 ? ` The first ${left} left out as warm-up.` : '';
  return `Fitted to ${countText(read.length - warmUpReadings, 'reading')}, by closed connections and by time; 95 % intervals.${first} A rise of less than 1 MB in all is no leak: readings of an idle server differ by as much.`;
}
