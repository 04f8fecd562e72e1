/** Memory over time, as tables. */
import type { Result } from '../../protocol/result/result.ts';
import { layerTitle } from '../figures/layers.ts';
import { integer, megabytes, sizeOf } from '../text/format.ts';
import { answerOf, driftLayers, overTimeNotes, pace, readingLayers, readingRows } from '../text/over-time-text.ts';
import { notMeasured, optional } from './figures.ts';
import { escapeMarkdown, markdownTable } from './table.ts';

const MEMORY_OVER_TIME = '### Memory over Time (MB)';

/** @returns headings and tables; empty for other runs */
export function overTime(result: Result): string[] {
  const { overTime: found } = result.memory;
  if (!found) return [];
  if (result.absent.memory !== undefined) return [MEMORY_OVER_TIME, notMeasured(result.absent.memory)];
  const layers = readingLayers(result);
  const titles = layers.map((layer) => escapeMarkdown(layerTitle(result, layer)));
  const rows = readingRows(found).map(({ reading, peak }) => [
    integer(reading.gone),
    integer((peak ?? reading).connections),
    ...layers.map((layer) => {
      const after = optional(reading.bytes[layer], megabytes);
      return peak ? `${optional(peak.bytes[layer], megabytes)} → ${after}` : after;
    }),
  ]);
  const drifts = driftLayers(result).map((layer) => {
    const drift = found.drift[layer] as NonNullable<(typeof found.drift)[string]>;
    return [escapeMarkdown(layerTitle(result, layer)), sizeOf(pace(drift)), answerOf(result, layer)];
  });
  return [
    MEMORY_OVER_TIME,
    ...(found.kind === 'waves' ? ['At the peak of each wave → after it.'] : []),
    rows.length === 0 ? 'Not measured.' : markdownTable(['Came and went', 'Connections', ...titles], rows),
    '### What Connections Leave Behind',
    drifts.length === 0
      ? 'Not known: that takes three readings.'
      : markdownTable(['Layer', found.kind === 'waves' ? 'Per wave' : 'Per hour', 'Answer'], drifts),
    ...overTimeNotes(result),
  ];
}
