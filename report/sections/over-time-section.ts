/** Section on memory over time: waves or churn of connections, and memory that remains after they close. */
import type { Drift, OverTimeResult } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { driftText, UNKNOWN } from '../answer/over-time-line.ts';
import { memoryOverTime, readingsOverTime } from '../charts/over-time-chart.ts';
import { inOrder, layerTitle } from '../figures/layers.ts';
import { otherDrifts, WORKER_FIGURES } from '../figures/left-behind.ts';
import { amount } from '../model/amount.ts';
import { absentSection, type Block, drawing, facts, lines, type Section } from '../model/document.ts';
import { counted, integer } from '../text/format.ts';
import { NO_SAMPLES } from './section-parts.ts';

const TITLE = 'Memory over time';
/** Returns the section on memory over time. It replaces the section on memory per connection. */
export function overTime(result: Result, found: OverTimeResult): Section {
  if (result.absent.memory !== undefined) return absentSection('memory', TITLE, result.absent.memory);
  const trusted = result.verdict.status !== 'INVALID';
  return {
    id: 'memory',
    title: TITLE,
    lead: `Memory was read ${found.kind === 'waves' ? 'after all connections of a wave had closed' : 'while connections opened and closed'}, ${found.collected ? 'after a forced garbage collection' : 'without a forced garbage collection: what grows may be garbage'}.`,
    terms: ['What connections leave behind', 'Layers'],
    blocks: [
      drawing(readingsOverTime(result), NO_SAMPLES),
      trusted ? drifts(result, found) : lines('absent', ['No answer, because this measurement cannot be trusted.']),
      lines('note', [note(found)]),
      drawing(memoryOverTime(result), NO_SAMPLES, true),
    ],
  };
}

/** Returns the change in bytes per wave, or per hour for runs without waves. */
export function driftRate({ bytesPerWave, bytesPerHour }: Drift): number {
  return bytesPerWave ?? bytesPerHour;
}

/** Lists the main layers, the layers of the workers' answer, and the generator's layers. */
function drifts(result: Result, { drift, kind }: OverTimeResult): Block {
  const ids = [...WORKER_FIGURES, ...otherDrifts(result).map(({ layer }) => layer)];
  const layers = inOrder(result, Object.keys(drift)).filter((id) => {
    if (ids.includes(id)) return true;
    const layer = result.memory.layers.find((one) => one.id === id);
    return layer?.belongsTo === 'generator' ? /Rss$/.test(id) : layer?.belongsTo === 'deployment' && layer.main;
  });
  if (layers.length === 0) return lines('absent', [`What connections leave behind is ${UNKNOWN}.`]);
  const per = kind === 'waves' ? 'per wave' : 'per hour';
  return facts(
    `What connections leave behind, ${per}`,
    layers.map((layer) => [
      layerTitle(result, layer),
      amount('size', driftRate(drift[layer] as Drift)),
      driftText(result, layer),
    ]),
  );
}

function note({ readings: read, warmUpReadings }: OverTimeResult): string {
  const left = warmUpReadings === 1 ? 'reading is' : `${integer(warmUpReadings)} readings are`;
  const first = warmUpReadings > 0 ? ` The first ${left} left out as warm-up.` : '';
  return `Fitted to ${counted(read.length - warmUpReadings, 'reading')}, by closed connections and by time; 95 % intervals.${first} A rise of less than 1 MB in all is no leak: readings of an idle server differ by as much.`;
}
