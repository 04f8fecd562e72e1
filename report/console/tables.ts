/** The sections of the console summary. A section without data is null, or states the reason. */

import type { Batch } from '../../protocol/result/delivery.ts';
import type { Summary } from '../../protocol/result/parts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { whyNoDelivery } from '../absent.ts';
import {
  messageRows,
  messageTimes,
  stepTexts,
  TIMES_HEAD,
  WORKER_HEAD,
  WORKER_NOTE,
  workerRows,
} from '../client-messages.ts';
import {
  decimals,
  integer,
  kilobytes,
  megabytes,
  milliseconds,
  percentile,
  percentOf,
  spaced,
  withMargin,
} from '../format.ts';
import { missesSome } from '../held.ts';
import { broadcastNotes, fromNotes, oneWayTitle } from '../latency-notes.ts';
import { inOrder, layerTitle } from '../layers.ts';
import { basisOf, noCapacity } from '../memory-text.ts';
import { otherCopies, sourceNotes } from '../other-copies.ts';
import { reconnectionNote } from '../reconnection.ts';
import { fittingTable, table } from '../table.ts';
import { clientsOf, transportNote } from '../transports.ts';

/** A heading, its lines, and notes below them that are wrapped. */
export interface Section {
  title: string;
  lines: string[];
  notes?: string[];
}

export const INDENT = '  ';
const BATCH_ROWS = 10;

export function connections(result: Result): Section {
  const { connections: made } = result;
  const rows = [
    ['Target', integer(made.target), 'connections'],
    ['Peak', integer(made.peak), 'connections'],
    ['Failed', integer(made.failed), breakdown(made.failures)],
    ...(made.skipped > 0 ? [['Skipped', integer(made.skipped), 'arrivals beyond maxVusers']] : []),
    ['Retries', integer(made.retries), ''],
    ['Disconnects', integer(sum(Object.values(made.disconnects))), breakdown(made.disconnects)],
    ['Rate configured', optional(made.configuredRatePerSec, (rate) => decimals(rate, 1)), 'conn/s'],
    ['Rate achieved', optional(made.achievedRatePerSec, (rate) => decimals(rate, 1)), 'conn/s'],
    ['Ramp', optional(made.rampSeconds, (seconds) => decimals(seconds, 1)), 's'],
  ];
  if (made.connectMs) {
    const { mean, p50, p99, max } = made.connectMs;
    const rest = `ms mean; p50 ${milliseconds(p50)}, p99 ${percentile(p99)}, max ${milliseconds(max)}`;
    rows.push(['Connect time', milliseconds(mean), rest]);
  }
  if (made.tlsHandshakes) {
    const { full, resumed } = made.tlsHandshakes;
    rows.push(['TLS handshakes', integer(full + resumed), resumed === 0 ? 'all full' : `${integer(resumed)} resumed`]);
  }
  const clients = clientsOf(result);
  if (clients !== null) rows.push(['Clients', '', [clients, transportNote(result)].filter(Boolean).join('; ')]);
  const reconnection = reconnectionNote(result);
  if (reconnection !== null) rows.push(['Reconnection', '', reconnection]);
  const perWorker = Object.values(made.perWorker);
  if (perWorker.length > 0) {
    const [least, most] = [Math.min(...perWorker), Math.max(...perWorker)];
    rows.push([
      'Workers',
      integer(perWorker.length),
      `with ${least === most ? '' : `${integer(least)} to `}${integer(most)} connections each`,
    ]);
  }
  const notes = Object.entries(made.failureExamples).map(([cause, text]) => `First ${cause}: ${text}`);
  return { title: 'Connection performance', lines: table([], rows, INDENT, ['left', 'right', 'left']), notes };
}

export function notMeasured(title: string, reason: string): Section {
  return { title, lines: [`${INDENT}Not measured: ${reason}.`] };
}

/** What connections send again and again; null if nothing. */
export function clientMessages({ messages: found }: Result, width: number): Section | null {
  if (found === null) return null;
  const counts = messageRows(found).map(({ title, value, note }) => [title, value, note]);
  const times = messageTimes(found);
  const lines = table([], counts, INDENT, ['left', 'right', 'left']);
  if (times.length > 0) lines.push('', ...fittingTable(TIMES_HEAD, times, INDENT, width));
  if (found.workers.length > 0) lines.push('', ...fittingTable(WORKER_HEAD, workerRows(found), INDENT, width));
  return {
    title: 'Messages of clients',
    lines,
    notes: [...stepTexts(found), ...(found.workers.length > 0 ? [WORKER_NOTE] : [])],
  };
}

export function messages(result: Result, width: number): Section {
  const { delivery, connections: made } = result;
  const title = 'Message performance';
  if (delivery === null) return notMeasured(title, whyNoDelivery(result));
  const payloadBytes = delivery.received * delivery.payloadBytes;
  const rows = [
    ['Broadcasts sent', integer(delivery.broadcasts), `of ${integer(delivery.payloadBytes)} bytes`],
    ['Receipts expected', integer(delivery.expected), ''],
    ['Receipts', integer(delivery.received), `${megabytes(payloadBytes)} MB of payload`],
    ['Coverage', percentOf(delivery.received, delivery.expected), ''],
    ...(missesSome(delivery)
      ? [['Coverage of target', percentOf(delivery.coverageOfTarget ?? 0, 1), 'with those that were gone']]
      : []),
    ['Lost, connected', integer(delivery.lostConnected), ''],
    ['Lost, disconnected', integer(delivery.lostDisconnected), ''],
    ['Duplicates', integer(delivery.duplicates), ''],
    ['Reordered', integer(delivery.reordered), 'received after a later one'],
    ['Unexpected', integer(delivery.unexpected), 'join not acknowledged before the send'],
    ['Late', integer(delivery.late), 'received after the ledger was closed'],
    ...otherCopies(delivery).map(({ title, count, note }) => [title, integer(count), note]),
  ];
  if (made.peak > 0) rows.push(['Payload per connection', kilobytes(payloadBytes / made.peak), 'KB']);
  const lines = table([], rows, INDENT, ['left', 'right', 'left']);
  if (delivery.batches.length > 0) lines.push('', ...batchTable(delivery.batches, width));
  return { title, lines, notes: sourceNotes(delivery) };
}

/** Every imperfect batch, and perfect ones up to ten rows in total; only perfect ones are left out. */
function batchTable(batches: Batch[], width: number): string[] {
  const imperfect = batches.filter((batch) => !isPerfect(batch));
  const perfect = batches.filter(isPerfect);
  const shown = [...imperfect, ...perfect.slice(0, Math.max(0, BATCH_ROWS - imperfect.length))];
  // Rare, and the width is needed for the times.
  const reordered = batches.some((batch) => batch.reordered > 0);
  const rows = shown.map((batch) => [
    integer(batch.seq),
    integer(batch.expected),
    integer(batch.received),
    percentOf(batch.received, batch.expected),
    integer(batch.lostConnected + batch.lostDisconnected),
    integer(batch.duplicates),
    ...(reordered ? [integer(batch.reordered)] : []),
    integer(batch.unexpected),
    optional(batch.serverMembers, integer),
    ...[batch.lastMs, batch.p99Ms, batch.p50Ms, batch.firstMs].map((ms) => optional(ms, milliseconds)),
  ]);
  const counts = [
    'Batch',
    'Expected',
    'Received',
    'Coverage',
    'Lost',
    'Dups',
    ...(reordered ? ['Reordered'] : []),
    'Unexpected',
    'Members',
  ];
  const head = [...counts, 'Last ms', 'p99', 'p50', 'First'];
  const rest = batches.length - shown.length;
  return [
    ...fittingTable(head, rows, INDENT, width),
    ...(rest > 0 ? [`${INDENT}… ${integer(rest)} more, all 100 %`] : []),
  ];
}

function isPerfect({ serverMembers, expected, received, duplicates, reordered, unexpected }: Batch): boolean {
  const agreed = serverMembers === null || serverMembers === expected;
  return expected > 0 && received === expected && duplicates + reordered + unexpected === 0 && agreed;
}

export function latency({ latency: times }: Result): Section | null {
  const rows = (
    [
      [oneWayTitle(times), times.oneWayMs],
      ['  same worker', times.localMs],
      ['  across workers', times.crossWorkerMs],
      ['Reference receiver', times.sentinelMs],
      ['  lag of the others (p99)', times.behindSentinelMs],
      ['Completion (last receiver)', times.completionMs],
      ['Round trip ÷ 2 under load', times.roundTripHalfMs.underLoad],
      ['Round trip ÷ 2 unloaded', times.roundTripHalfMs.single],
      ['Send delay', times.sendDelayMs],
    ] satisfies [string, Summary | null][]
  ).flatMap(([name, summary]) => (summary ? [latencyRow(name, summary)] : []));
  if (rows.length === 0) return null;
  return {
    title: 'Latency (ms)',
    lines: table(['', 'Count', 'Mean', 'p50', 'p90', 'p99', 'p99.9', 'Max'], rows, INDENT),
    notes: [...fromNotes(times), ...broadcastNotes(times), ...clockNote(times.clocks)],
  };
}

/** Of workers on other hosts. */
function clockNote(clocks: Result['latency']['clocks']): string[] {
  const apart = clocks.filter(({ offsetUs }) => offsetUs !== 0);
  if (apart.length === 0) return [];
  const worst = apart.reduce((one, other) => (one.uncertaintyUs > other.uncertaintyUs ? one : other));
  return [
    `${integer(apart.length)} of ${integer(clocks.length)} workers use a different clock from the generator; the offset is ` +
      `removed, with an error of ± ${milliseconds(worst.uncertaintyUs / 1000)} ms (${worst.worker}).`,
  ];
}

function latencyRow(name: string, { count, mean, p50, p90, p99, p999, max }: Summary): string[] {
  return [name, integer(count), ...[mean, p50, p90, p99, p999, max].map(percentile)];
}

export function cpu(result: Result): Section | null {
  const layers = inOrder(result, Object.keys(result.cpu));
  if (layers.length === 0) return null;
  const rows = layers.map((layer) => {
    const figures = result.cpu[layer] as Result['cpu'][string];
    const { intervals: sure } = figures;
    return [
      layerTitle(result, layer),
      withMargin(figures.rampSecondsPerThousandConnects, sure?.rampSecondsPerThousandConnects, (seconds) =>
        decimals(seconds, 3),
      ),
      // With messages, nobody is idle.
      result.messages
        ? withMargin(figures.clientMicrosecondsPerMessage, sure?.clientMicrosecondsPerMessage, (us) => decimals(us, 1))
        : withMargin(figures.idlePercent, sure?.idlePercent, (percent) => decimals(percent, 1)),
      withMargin(figures.broadcastMicrosecondsPerMessage, sure?.broadcastMicrosecondsPerMessage, (us) =>
        decimals(us, 1),
      ),
    ];
  });
  return {
    title: 'CPU (100 % is one core)',
    lines: table(
      ['Layer', 's per 1,000 connects', result.messages ? 'µs per client message' : '% while idle', 'µs per message'],
      rows,
      INDENT,
    ),
    notes: result.absent.cpu === undefined ? [] : [`The server's CPU was not measured: ${result.absent.cpu}.`],
  };
}

export function capacity(result: Result): Section | null {
  const { capacity: found, verdict } = result;
  if (verdict.status === 'INVALID') return null;
  const { memoryLimited, seedTheoreticalMax, limits, lowest } = found;
  const rows: string[][] = [];
  if (memoryLimited) {
    const { budgetBytes, connections: fitting, low95, high95 } = memoryLimited;
    const interval =
      low95 === null || high95 === null ? 'no interval' : `95 %: ${integer(low95)} to ${integer(high95)}`;
    const basis = basisOf(memoryLimited);
    rows.push([`Fit in ${integer(budgetBytes / 1024 ** 2)} MB of workers`, integer(fitting), `${basis}; ${interval}`]);
  }
  const unknown = noCapacity(result);
  if (unknown !== null) rows.push(['Fit in the memory budget', '–', `the workers' memory: ${unknown}`]);
  if (seedTheoreticalMax !== null) {
    rows.push(['Theoretical max', integer(seedTheoreticalMax), '2 GiB × N ÷ peak worker RSS']);
  }
  for (const { name, max } of limits)
    rows.push([`Limit: ${spaced(name)}`, integer(max), name === lowest ? 'lowest' : '']);
  if (rows.length === 0) return null;
  return { title: 'Capacity (connections)', lines: table([], rows, INDENT, ['left', 'right', 'left']) };
}

/** `ECONNREFUSED 3, http_502 1`, the most frequent first. */
export function breakdown(counts: Record<string, number>): string {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([cause, count]) => `${cause} ${integer(count)}`)
    .join(', ');
}

export function optional(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
