/** The sections of the console summary. A section without data is null, or states the reason. */

import type { Batch } from '../../protocol/result/delivery.ts';
import type { Summary } from '../../protocol/result/parts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { layerTitle } from '../figures/layers.ts';
import { whyNoDelivery } from '../text/absent.ts';
import { batchName } from '../text/batch-name.ts';
import { BY_CONNECTIONS_HEAD, byConnectionsRows } from '../text/by-connections.ts';
import {
  messageRows,
  messageTimes,
  stepTexts,
  TIMES_HEAD,
  WORKER_HEAD,
  WORKER_NOTE,
  workerRows,
} from '../text/client-messages.ts';
import { cpuCells, cpuHead, cpuNotes } from '../text/cpu-cells.ts';
import { faultName, faultNotes, faultRows } from '../text/fault-text.ts';
import {
  breakdown,
  decimals,
  integer,
  kilobytes,
  megabytes,
  milliseconds,
  percentile,
  percentOf,
} from '../text/format.ts';
import { missesSome } from '../text/held.ts';
import { broadcastNotes, fromNotes, oneWayTitle } from '../text/latency-notes.ts';
import { basisOf, noCapacity } from '../text/memory-text.ts';
import { otherCopies, sourceNotes } from '../text/other-copies.ts';
import { limitName, limitNote, noPingLimit } from '../text/ping-text.ts';
import { reconnectionNote } from '../text/reconnection.ts';
import { redisRows } from '../text/redis.ts';
import { toRooms } from '../text/rooms.ts';
import { fittingTable, table } from '../text/table.ts';
import { clientsOf, transportNote } from '../text/transports.ts';

/** A heading, its lines, and notes below them that are wrapped. */
export interface Section {
  title: string;
  lines: string[];
  notes?: string[];
}

export const INDENT = '  ';
const BATCH_ROWS = 10;
/** Named in one line. */
const MAX_SERVERS = 6;

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
  const perServer = Object.entries(made.perServer ?? {});
  if (perServer.length > 1) {
    const shown = perServer.slice(0, MAX_SERVERS).map(([server, clients]) => `${server} ${integer(clients)}`);
    const others = perServer.length - shown.length;
    const rest = others > 0 ? [`${integer(others)} more`] : [];
    rows.push(['Servers', integer(perServer.length), `clients by their admin UI: ${[...shown, ...rest].join(', ')}`]);
  }
  const notes = Object.entries(made.failureExamples).map(([cause, text]) => `First ${cause}: ${text}`);
  return { title: 'Connection performance', lines: table([], rows, INDENT, ['left', 'right', 'left']), notes };
}

/** What a planned fault cost; null without one. */
export function fault(result: Result): Section | null {
  const { fault: found } = result;
  if (found === null) return null;
  const rows = faultRows(result).map(({ title, value, note }) => [title, value, note]);
  const lines = table([], rows, INDENT, ['left', 'right', 'left']);
  return { title: `Planned fault: ${faultName(found)}`, lines, notes: faultNotes(result, found) };
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
    [
      'Broadcasts sent',
      integer(delivery.broadcasts),
      `of ${integer(delivery.payloadBytes)} ${delivery.binary ? 'binary ' : ''}bytes${toRooms(delivery)}`,
    ],
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
    ...redisRows(result),
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
    batchName(batch),
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

export function latencyByConnections(result: Result): Section | null {
  const rows = byConnectionsRows(result);
  if (rows.length === 0) return null;
  return { title: 'Latency against connections (ms)', lines: table(BY_CONNECTIONS_HEAD, rows, INDENT) };
}

/** Of workers on other hosts. */
function clockNote(clocks: Result['latency']['clocks']): string[] {
  const apart = clocks.filter(({ offsetUs }) => offsetUs !== 0);
  if (apart.length === 0) return [];
  const worst = apart.reduce((one, other) => (one.uncertaintyUs > other.uncertaintyUs ? one : other));
  const jumped = apart.filter(({ jumpUs }) => jumpUs > 0);
  return [
    `${integer(apart.length)} of ${integer(clocks.length)} workers use a different clock from the generator; the offset is ` +
      `removed, with an error of ± ${milliseconds(worst.uncertaintyUs / 1000)} ms (${worst.worker}).`,
    ...jumped.map(({ worker, jumpUs }) => `The clock of ${worker} jumped by up to ${milliseconds(jumpUs / 1000)} ms.`),
  ];
}

function latencyRow(name: string, { count, mean, p50, p90, p99, p999, max }: Summary): string[] {
  return [name, integer(count), ...[mean, p50, p90, p99, p999, max].map(percentile)];
}

export function cpu(result: Result): Section | null {
  const rows = cpuCells(result).map(([layer, cells]) => [layerTitle(result, layer), ...cells]);
  if (rows.length === 0) return null;
  return {
    title: 'CPU (100 % is one core)',
    lines: table(cpuHead(result), rows, INDENT),
    notes: [
      ...(result.absent.cpu === undefined ? [] : [`The server's CPU was not measured: ${result.absent.cpu}.`]),
      ...cpuNotes(result),
    ],
  };
}

export function capacity(result: Result): Section | null {
  const { capacity: found, verdict } = result;
  if (verdict.status === 'INVALID') return null;
  const { memoryLimited, seedTheoreticalMax, limits } = found;
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
    rows.push([`Limit: ${limitName(result, name)}`, integer(max), limitNote(result, name)]);
  for (const { name, why } of found.unknown) rows.push([`Limit: ${limitName(result, name)}`, '–', `not known: ${why}`]);
  if (rows.length === 0) return null;
  const noPings = noPingLimit(result);
  return {
    title: 'Capacity (connections)',
    lines: table([], rows, INDENT, ['left', 'right', 'left']),
    notes: noPings === null ? [] : [`How many connections the CPU can ping is not known: ${noPings}.`],
  };
}

export function optional(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
