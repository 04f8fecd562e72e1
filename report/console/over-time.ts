/** The section of the console summary on memory over time. */
import type { Result } from '../../protocol/result/result.ts';
import { layerTitle } from '../figures/layers.ts';
import { integer, megabytes, sizeOf } from '../text/format.ts';
import { answerOf, driftLayers, overTimeNotes, pace, readingRows } from '../text/over-time-text.ts';
import { fittingTable, table } from '../text/table.ts';
import { INDENT, notMeasured, optional, type Section } from './tables.ts';

const ROWS = 12;
const COLUMNS = ['workerRss', 'workerHeapUsed'];

export function overTime(result: Result, width: number): Section[] {
  const { memory, absent, verdict } = result;
  const { overTime: found } = memory;
  if (!found) return [];
  const title = 'Memory over time';
  if (absent.memory !== undefined) return [notMeasured(title, absent.memory)];
  const waves = found.kind === 'waves';
  const read = COLUMNS.filter((layer) => found.readings.some(({ bytes }) => layer in bytes));
  const rows = readingRows(found)
    .slice(-ROWS)
    .map(({ reading, peak }) => [
      integer(reading.gone),
      integer((waves ? peak : reading)?.connections ?? 0),
      ...read.flatMap((layer) => [
        ...(waves ? [optional(peak?.bytes[layer], megabytes)] : []),
        optional(reading.bytes[layer], megabytes),
      ]),
    ]);
  const columns = read.flatMap((layer) => {
    const name = layerTitle(result, layer);
    return waves ? [`${name}, peak`, 'after'] : [name];
  });
  const readings = fittingTable(['Came and went', 'Connections', ...columns], rows, INDENT, width);
  const sections: Section[] = rows.length > 0 ? [{ title: `${title} (MB)`, lines: readings }] : [];
  const layers = verdict.status === 'INVALID' ? [] : driftLayers(result);
  if (layers.length === 0) return sections;
  const drifts = layers.map((layer) => {
    const drift = found.drift[layer] as NonNullable<(typeof found.drift)[string]>;
    return [layerTitle(result, layer), sizeOf(pace(drift)), `  ${answerOf(result, layer)}`];
  });
  const answers = table(['Layer', waves ? 'Per wave' : 'Per hour', '  Answer'], drifts, INDENT, [
    'left',
    'right',
    'left',
  ]);
  return [...sections, { title: 'What connections leave behind', lines: answers, notes: overTimeNotes(result) }];
}
