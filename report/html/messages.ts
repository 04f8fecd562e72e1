/** The messages that connections send again and again. */
import type { Result } from '../../protocol/result/result.ts';
import { acknowledgementPercentiles } from '../charts/percentiles.ts';
import {
  messageRows,
  messageTimes,
  stepTexts,
  TIMES_HEAD,
  WORKER_HEAD,
  WORKER_NOTE,
  workerRows,
} from '../text/client-messages.ts';
import { term } from './definitions.ts';
import { type Html, html } from './html.ts';
import { dataTable, figure, section } from './section.ts';

/** Null where connections send none. */
export function messages(result: Result): Html | null {
  const { messages: found } = result;
  if (found === null) return null;
  return section({
    id: 'messages',
    title: 'Messages of clients',
    lead: html`How long until the ${term('clientMessages', 'messages that connections send')} were acknowledged, from the intended send.`,
    body: html`${stepTexts(found).map(
      (text) => html`<p>${text}</p>
`,
    )}
${figure(acknowledgementPercentiles(result), 'Not measured: no message was acknowledged in the hold.')}
${dataTable('Times of the messages', TIMES_HEAD, messageTimes(found))}
${dataTable(
  'What became of the messages',
  ['', 'Count', ''],
  messageRows(found).map(({ title, value, note }) => [title, value, note]),
)}
${
  found.workers.length > 0 &&
  html`${dataTable('The workers and the messages', WORKER_HEAD, workerRows(found))}
<p class="note">${WORKER_NOTE}</p>`
}`,
  });
}
