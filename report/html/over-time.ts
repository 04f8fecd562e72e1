/** Memory over time: waves or churn, and what connections leave behind. */
import type { Result } from '../../protocol/result/result.ts';
import { readingsOverTime } from '../charts/drift.ts';
import { memoryOverTime } from '../charts/over-time.ts';
import { layerTitle } from '../figures/layers.ts';
import { integer, megabytes, sizeOf } from '../text/format.ts';
import {
  answerOf,
  driftLayers,
  overTimeHeadline,
  overTimeNotes,
  pace,
  readingLayers,
  readingRows,
} from '../text/over-time-text.ts';
import { term } from './definitions.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { absentSection, dataTable, figure, measured, section } from './section.ts';

const TITLE = 'Memory over time';

/** In place of the section on memory per connection. */
export function overTime(result: Result): Html {
  if (result.absent.memory !== undefined) return absentSection('memory', TITLE, result.absent.memory);
  const trusted = result.verdict.status !== 'INVALID';
  return section({
    id: 'memory',
    title: TITLE,
    lead: trusted && html`Workers: ${overTimeHeadline(result)}. See ${term('overTime')}.`,
    body: html`${figure(readingsOverTime(result), 'Not measured: there are no samples.', readings(result))}
${trusted ? drifts(result) : html`<p class="absent">No answer, because this measurement cannot be trusted.</p>`}
${overTimeNotes(result).map((note) => html`<p class="note">${note}</p>`)}
${figure(memoryOverTime(result), 'Not measured: there are no samples.')}`,
  });
}

function drifts(result: Result): Html {
  const { overTime: found } = result.memory;
  const rows = driftLayers(result).map((layer): HtmlValue[] => {
    const drift = found?.drift[layer] as NonNullable<Result['memory']['overTime']>['drift'][string];
    return [layerTitle(result, layer), sizeOf(pace(drift)), answerOf(result, layer)];
  });
  if (rows.length === 0) return html`<p class="absent">Not known: that takes three readings.</p>`;
  const head = [term('layers', 'Layer'), found?.kind === 'waves' ? 'Per wave' : 'Per hour', 'Answer'];
  return dataTable('What connections leave behind', head, rows);
}

function readings(result: Result): Html | null {
  const { overTime: found } = result.memory;
  if (!found) return null;
  const layers = readingLayers(result);
  return dataTable(
    'Readings, in MB',
    [
      'Connections that came and went',
      'Connections',
      ...layers.map((layer) => `${layerTitle(result, layer)}, MB${found.kind === 'waves' ? ': peak, after' : ''}`),
    ],
    readingRows(found).map(({ reading, peak }): HtmlValue[] => [
      integer(reading.gone),
      integer((peak ?? reading).connections),
      ...layers.map((layer) => {
        const after = measured(reading.bytes[layer], megabytes);
        return peak ? `${measured(peak.bytes[layer], megabytes)}, ${after}` : after;
      }),
    ]),
  );
}
