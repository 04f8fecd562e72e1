/** The messages that connections send again and again, as rows and sentences. */
import type { Messages } from '../../protocol/result/messages.ts';
import type { Summary } from '../../protocol/result/parts.ts';
import { counted, decimals, integer, milliseconds, percentile, percentOf } from './format.ts';

export interface MessageRow {
  title: string;
  value: string;
  note: string;
}

/** What became of all of them; those that nobody asked an acknowledgement of only where there are any. */
export function messageRows(messages: Messages): MessageRow[] {
  const { notSent, unasked, sent, acknowledged, window } = messages;
  const row = (title: string, value: string, note = ''): MessageRow => ({ title, value, note });
  const asked = sent - unasked;
  return [
    row('Due', integer(messages.due), `on ${counted(messages.connections, 'connection')}`),
    row('Sent', integer(sent), percentOf(sent, messages.due)),
    row('Not sent, generator behind', integer(notSent.missed), 'by more than a period'),
    row('Not sent, disconnected', integer(notSent.disconnected)),
    ...(unasked > 0 ? [row('Sent without acknowledgement', integer(unasked))] : []),
    row('Acknowledged', integer(acknowledged), asked > 0 ? percentOf(acknowledged, asked) : ''),
    row('Unanswered, connected', integer(messages.unansweredConnected)),
    row('Unanswered, disconnected', integer(messages.unansweredDisconnected)),
    ...(window ? [row('Rate in the hold', decimals(window.sentPerSec, 1), rateNote(window))] : []),
  ];
}

function rateNote({ seconds, eventsPerSec }: NonNullable<Messages['window']>): string {
  const events = eventsPerSec === null ? '' : `, ${integer(eventsPerSec)} events/s`;
  return `messages/s${events}, over ${decimals(seconds, 0)} s`;
}

export const TIMES_HEAD = ['ms', 'Count', 'Mean', 'p50', 'p95', 'p99', 'p99.9', 'Max'];

/** From the intended send; without what was not measured. */
export function messageTimes({ ackMs, sendDelayMs, outsideAckMs }: Messages): string[][] {
  const named: [string, Summary | null][] = [
    ['To acknowledgement', ackMs],
    ['Send delay', sendDelayMs],
    ['To ack., not in hold', outsideAckMs],
  ];
  return named.flatMap(([name, summary]) => {
    if (summary === null) return [];
    const { count, mean, p50, p95, p99, p999, max } = summary;
    return [[name, integer(count), ...[mean, p50, p95, p99, p999, max].map(percentile)]];
  });
}

/** Such as "every 10 s: `event_batch`, 150 events, acknowledged". */
export function stepTexts({ steps }: Messages): string[] {
  return steps.map(({ event, seconds, count, events, acknowledge }) => {
    const times = count > 1 ? `${integer(count)} × ` : '';
    const many = events > 1 ? ` of ${integer(events)} events` : '';
    return `Every ${Number(seconds.toFixed(3))} s, each connection sends ${times}"${event}"${many}${acknowledge ? ', to be acknowledged' : ''}.`;
  });
}

/** Handler and queue of each worker, in milliseconds. */
export const WORKER_HEAD = ['Worker', 'Batches', 'Handler p50', 'p95', 'max', 'Queue p50', 'p99', 'max'];

export function workerRows({ workers }: Messages): string[][] {
  return workers.map(({ worker, batches, handlerMs, queueMs }) => [
    worker,
    integer(batches),
    ...(handlerMs ? [handlerMs.p50, handlerMs.p95, handlerMs.max].map(fine) : ['–', '–', '–']),
    ...[queueMs.p50, queueMs.p99, queueMs.max].map(milliseconds),
  ]);
}

/** A handler can take microseconds. */
function fine(ms: number): string {
  return ms < 1 ? decimals(ms, 3) : milliseconds(ms);
}

export const WORKER_NOTE =
  "Handler, in ms: the contract's own, until it has acknowledged. Queue, in ms: delay of the worker's event loop.";

/** For a headline; null where nothing was acknowledged in the hold. */
export function messageHeadline(messages: Messages): string | null {
  const { ackMs, answered } = messages;
  if (!ackMs || answered === null) return null;
  const { acknowledged, sent, unasked } = messages;
  const share = answered === 1 ? 'all' : percentOf(acknowledged, sent - unasked);
  return `${share} messages of clients acknowledged, p95 ${milliseconds(ackMs.p95 ?? ackMs.max)} ms`;
}
