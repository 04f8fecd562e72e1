/** Section on messages that clients send repeatedly. */
import type { MessagesResult } from '../../protocol/result/messages-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { acknowledgementChart } from '../charts/latency-chart.ts';
import { amount, withUnit } from '../model/amount.ts';
import {
  chartBlock,
  countFact,
  factsTable,
  figuresTable,
  linesBlock,
  type ReportSection,
  type TableFact,
} from '../model/document.ts';
import { countText, integerText, percentOf } from '../text/format.ts';
import { summariesTable } from './section-parts.ts';

/** Returns the section; null for runs in which clients send no repeated messages. */
export function messagesSection(result: Result): ReportSection | null {
  const { messages: found } = result;
  if (found === null) return null;
  return {
    id: 'messages',
    title: 'Messages of clients',
    lead: 'How long until the messages that connections send were acknowledged, from the intended send.',
    terms: ['Messages of clients'],
    blocks: [
      linesBlock('text', steps(found)),
      chartBlock(acknowledgementChart(result), 'Not measured: no message was acknowledged in the hold.'),
      summariesTable('Times of the messages', [
        ['To acknowledgement', found.ackMs],
        ['Send delay', found.sendDelayMs],
        ['To acknowledgement, not in the hold', found.outsideAckMs],
      ]),
      factsTable('What became of the messages', counts(found)),
      ofWorkers(found),
    ],
  };
}

/** Returns a text for each repeated step, such as "every 10 s: `event_batch`, 150 events, acknowledged". */
function steps(found: MessagesResult): string[] {
  return found.steps.map(({ event, seconds, count, events, acknowledge }) => {
    const times = count > 1 ? `${integerText(count)} × ` : '';
    const many = events > 1 ? ` of ${integerText(events)} events` : '';
    return `Every ${Number(seconds.toFixed(3))} s, each connection sends ${times}\`${event}\`${many}${acknowledge ? ', to be acknowledged' : ''}.`;
  });
}

/**
 * Returns rows with the number of messages by outcome. Messages that requested no acknowledgement are listed only if
 * there are any.
 */
function counts(found: MessagesResult): (TableFact | false | null)[] {
  const { due, sent, notSent, ackNotRequested, acknowledged, window } = found;
  const asked = sent - ackNotRequested;
  const events = window?.eventsPerSec == null ? '' : `${integerText(window.eventsPerSec)} events/s, `;
  return [
    countFact('Due', due, `on ${countText(found.connections, 'connection')}`),
    countFact('Sent', sent, percentOf(sent, due)),
    countFact('Not sent, generator behind', notSent.missed, 'by more than a period'),
    countFact('Not sent, disconnected', notSent.disconnected),
    ackNotRequested > 0 && countFact('Sent without acknowledgement', ackNotRequested),
    countFact('Acknowledged', acknowledged, asked > 0 ? percentOf(acknowledged, asked) : ''),
    countFact('Unanswered, connected', found.unansweredConnected),
    countFact('Unanswered, disconnected', found.unansweredDisconnected),
    window && [
      'Rate in the hold',
      amount('perSecond', window.sentPerSec),
      `${events}over ${withUnit('seconds', window.seconds)}`,
    ],
  ];
}

function ofWorkers({ workers }: MessagesResult) {
  return figuresTable(
    'Handlers and event loops of the workers, in ms',
    ['Worker', 'Batches', 'Handler p50', 'p95', 'Max', 'Event loop late p50', 'p99', 'Max'],
    workers.map(({ worker, batches, handlerMs, queueMs }) => [
      worker,
      amount('count', batches),
      ...[handlerMs?.p50, handlerMs?.p95, handlerMs?.max, queueMs.p50, queueMs.p99, queueMs.max].map((ms) =>
        amount('milliseconds', ms),
      ),
    ]),
    true,
  );
}
