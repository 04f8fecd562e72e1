/** What a planned fault cost. */
import type { Result } from '../../protocol/result/result.ts';
import { connectionsBack } from '../charts/fault.ts';
import { faultHeadline, faultNotes, faultRows, seconds } from '../text/fault-text.ts';
import { integer } from '../text/format.ts';
import { term } from './definitions.ts';
import { type Html, html } from './html.ts';
import { dataTable, figure, section } from './section.ts';

/** Null where the scenario plans none. */
export function fault(result: Result): Html | null {
  const { fault: found } = result;
  if (!found) return null;
  const curve = dataTable(
    'Connections after the fault',
    ['Seconds', 'Connections', 'Attempts', 'Returns'],
    found.curve.map(({ ms, connected, attempts, returns }) => [
      seconds(ms),
      integer(connected),
      integer(attempts),
      integer(returns),
    ]),
  );
  return section({
    id: 'fault',
    title: 'Planned fault',
    lead: html`${faultHeadline(found)}. See ${term('fault')}.`,
    body: html`${figure(connectionsBack(result), 'No connection dropped.', found.curve.length > 0 && curve)}
${dataTable(
  'What the fault cost',
  ['', 'Value', ''],
  faultRows(result).map(({ title, value, note }) => [title, value, note]),
)}
${faultNotes(result, found).map((note) => html`<p class="note">${note}</p>`)}`,
  });
}
