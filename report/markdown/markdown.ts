/** The result as Markdown, in the form of the published Socket.IO benchmark report: same headings, same tables. */

import type { Batch } from '../../protocol/result/delivery.ts';
import type { Messages } from '../../protocol/result/messages.ts';
import type { Result } from '../../protocol/result/result.ts';
import { answerParts, outcomeTitle } from '../answer/sentence.ts';
import { GRADES, gradeOf } from '../figures/grade.ts';
import { layerTitle, mainLayers } from '../figures/layers.ts';
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
import { faultHeadline, faultNotes, faultRows } from '../text/fault-text.ts';
import { decimals, integer, kilobytes, megabytes, milliseconds, percentOf } from '../text/format.ts';
import { HOSTS_HEAD, hostRows } from '../text/hosts.ts';
import { otherCopies, sourceNotes } from '../text/other-copies.ts';
import { comesAndGoes } from '../text/over-time-text.ts';
import { ownServer } from '../text/place.ts';
import { reconnectionNote } from '../text/reconnection.ts';
import { redisRows } from '../text/redis.ts';
import { serverName, serverProperties } from '../text/server.ts';
import { clientsOf, transportNote } from '../text/transports.ts';
import { cpu, latency, limits, notMeasured, optional, perConnection } from './figures.ts';
import { overTime } from './over-time.ts';
import { escapeMarkdown, markdownTable } from './table.ts';

const BATCH_ROWS = 10;

/** @returns a whole page; for an INVALID run, only the reasons and the environment */
export function renderMarkdown(result: Result): string {
  const size = comesAndGoes(result) ?? `${integer(result.connections.target)} connections`;
  const blocks = [`# Socket.IO performance: ${size}`, verdict(result), '## System Environment', ...environment(result)];
  if (result.verdict.status !== 'INVALID') {
    blocks.push(`## Performance Results (${size.replace(/connections$/, 'Connections')})`, ...performance(result));
  }
  blocks.push('“–” means not measured. KB and MB are 1,024 and 1,048,576 bytes.');
  return `${blocks.join('\n\n')}\n`;
}

function verdict(result: Result): string {
  const {
    verdict: { status, reasons },
    run,
  } = result;
  const server = serverName(result);
  const figures = status === 'INVALID' ? ' No figures are shown, because this measurement cannot be trusted.' : '';
  const incomplete = run.complete ? '' : ' The run ended early.';
  const of = server === null || status === 'INVALID' ? '' : ` The figures are of ${server}.`;
  const lines = reasons.map(
    ({ code, message, fix }) =>
      `- **${escapeMarkdown(code)}**: ${escapeMarkdown(message)}${fix === undefined ? '' : ` (fix: ${escapeMarkdown(fix)})`}`,
  );
  const parts = answerParts(result);
  return [
    `**${escapeMarkdown(outcomeTitle(result))}.**${parts.length > 0 ? ` ${escapeMarkdown(parts.join(' · '))}.` : ''}`,
    `Measurement: **${status}**.${figures}${of}${incomplete}`,
    ...(lines.length > 0 ? [lines.join('\n')] : []),
  ].join('\n\n');
}

/** The machine and the command, without which a figure means nothing. */
function environment(result: Result): string[] {
  const { run, environment: env } = result;
  const server = serverProperties(result).map(([name, value]) => `${name} ${value}`);
  const versions = Object.entries(env.versions).map(([name, version]) => `${name} ${version}`);
  const rows = [
    ['Processor', `${env.cpu} (${integer(env.cpuCount)} cores)`],
    ['Memory', `${decimals(env.memoryBytes / 1024 ** 3, 1)} GiB`],
    ['Operating System', env.kernel],
    ['Software', versions.join(', ')],
    ['Server', [serverName(result) ?? 'not known', ...server].join(', ')],
    ['Commit', env.gitCommit === null ? '–' : env.gitCommit.slice(0, 12)],
    ['Run', run.id],
    ['Command', `npx artillery run ${run.file ?? `scenarios/${run.scenario}.yml`}`],
    ['Clients', clientsOf(result) ?? '–'],
    [
      'Target',
      `${run.target} (${run.profile === 'remote' ? ownServer(run) : `profile ${run.profile}`}, engine ${run.engine})`,
    ],
  ];
  const limits = Object.entries(env.limits).map(([name, limit]) => [escapeMarkdown(name), integer(limit)]);
  return [
    '### Hardware Specifications',
    markdownTable(
      ['Component', 'Specification'],
      rows.map(([name = '', value = '']) => [`**${name}**`, escapeMarkdown(value)]),
      'left',
    ),
    ...(limits.length > 0 ? ['### System Limits', markdownTable(['Resource', 'Limit'], limits)] : []),
  ];
}

function performance(result: Result): string[] {
  return [
    '### Connection Performance',
    connections(result),
    gradeRule(),
    ...fault(result),
    ...(result.memory.overTime ? overTime(result) : memory(result)),
    ...(result.messages ? ['### Messages of Clients', ...clientMessages(result.messages)] : []),
    '### Message Performance',
    ...messages(result),
    '### Latency',
    latency(result),
    ...byConnections(result),
    '### CPU',
    cpu(result),
    ...(result.generators.length > 0 ? ['### Generator Hosts', hosts(result)] : []),
    '### System Capacity',
    ...(result.absent.memory === undefined ? [capacity(result)] : []),
    limits(result),
  ];
}

function byConnections(result: Result): string[] {
  const rows = byConnectionsRows(result);
  return rows.length === 0 ? [] : ['### Latency vs Connections (ms)', markdownTable(BY_CONNECTIONS_HEAD, rows)];
}

function hosts(result: Result): string {
  return markdownTable(
    HOSTS_HEAD,
    hostRows(result).map(([host = '', ...cells]) => [escapeMarkdown(host), ...cells]),
  );
}

function memory(result: Result): string[] {
  return ['### RAM vs Connections (MB)', ram(result), '### Memory per Connection', perConnection(result)];
}

function fault(result: Result): string[] {
  const { fault: found } = result;
  if (!found) return [];
  const rows = faultRows(result).map(({ title, value, note }) => [`**${title}**`, value, escapeMarkdown(note)]);
  const notes = faultNotes(result, found).map(escapeMarkdown);
  return [
    '### Planned Fault',
    `${escapeMarkdown(faultHeadline(found))}.`,
    markdownTable(['Metric', 'Value', ''], rows),
    ...notes,
  ];
}

function connections(result: Result): string {
  const { connections: made, memory, capacity: found } = result;
  const rate = (perSec: number | null) => optional(perSec, (value) => decimals(value, 2));
  const rows = [
    ['Target Connections', integer(made.target), 'conn'],
    ['Peak Connections', integer(made.peak), 'conn'],
    ['Failed', integer(made.failed), 'conn'],
    ['Throughput (configured)', rate(made.configuredRatePerSec), 'conn/s'],
    ['Reported Connection Rate', rate(made.achievedRatePerSec), 'conn/s'],
    ['Ramp Duration', optional(made.rampSeconds, (seconds) => decimals(seconds, 2)), 's'],
    ['Avg Connection Time', optional(made.connectMs?.mean, milliseconds), 'ms'],
    ['Connection Time p99', optional(made.connectMs?.p99, milliseconds), 'ms'],
    ['Peak Memory Usage (worker RSS)', optional(memory.peakBytes.workerRss, megabytes), 'MB'],
    ['Memory per Connection (approx)', optional(approximate(result), kilobytes), 'KB'],
    ['Theoretical Max Connections', optional(found.seedTheoreticalMax, integer), 'conn'],
    ['Transport', transportNote(result) ?? clientsOf(result) ?? '–', '-'],
    ...(reconnectionNote(result) === null ? [] : [['Reconnection', reconnectionNote(result) as string, '-']]),
    ['Grade', gradeOf(result) ?? '–', '-'],
  ];
  return markdownTable(
    ['Metric', 'Value', 'Unit'],
    rows.map(([name, ...cells]) => [`**${name}**`, ...cells]),
  );
}

/** The published report's own rule, including the memory at 0 connections: 286 MB ÷ 5,000 = 59 KB. */
function approximate({ memory, connections: { peak } }: Result): number | null {
  const { workerRss } = memory.peakBytes;
  return workerRss === undefined || peak === 0 ? null : workerRss / peak;
}

function gradeRule(): string {
  return [
    'Memory per Connection (approx) is peak ÷ connections, and Theoretical Max Connections is 2 GiB ÷ that, as in the published report. The slope below is the cost of one more connection.',
    `Grade: ${GRADES.map(({ grade, rule }) => `**${grade}** ${rule}`).join('; ')}.`,
  ].join('\n\n');
}

/** The published report's column, and the layers that it lacks. */
function ram(result: Result): string {
  const { memory, absent } = result;
  if (absent.memory !== undefined) return notMeasured(absent.memory);
  const layers = mainLayers(result).filter((layer) => memory.plateaus.some((plateau) => layer in plateau));
  const rows = memory.plateaus.map((plateau) => [
    integer(plateau.connections),
    ...layers.map((layer) => optional(plateau[layer], megabytes)),
  ]);
  const titles = layers.map((layer) => escapeMarkdown(layerTitle(result, layer)));
  return rows.length === 0 ? 'Not measured.' : markdownTable(['Connections', ...titles], rows);
}

function clientMessages(found: Messages): string[] {
  const times = messageTimes(found);
  const workers = workerRows(found).map(([worker = '', ...cells]) => [escapeMarkdown(worker), ...cells]);
  return [
    ...stepTexts(found).map(escapeMarkdown),
    markdownTable(
      ['', 'Count', ''],
      messageRows(found).map(({ title, value, note }) => [title, value, note]),
    ),
    ...(times.length > 0 ? [markdownTable(TIMES_HEAD, times)] : []),
    ...(workers.length > 0 ? [markdownTable(WORKER_HEAD, workers), WORKER_NOTE] : []),
  ];
}

function messages(result: Result): string[] {
  const {
    delivery,
    connections: { peak },
  } = result;
  if (delivery === null) return [notMeasured(whyNoDelivery(result))];
  const { broadcasts, received, expected, payloadBytes } = delivery;
  const rows = [
    ['Broadcasts Sent', integer(broadcasts)],
    ['Total Messages Expected', integer(expected)],
    ['Total Messages Received', integer(received)],
    ['Message Delivery Rate', `**${percentOf(received, expected)}**`],
    ['Lost, still connected', integer(delivery.lostConnected)],
    ['Lost, disconnected', integer(delivery.lostDisconnected)],
    ['Duplicates', integer(delivery.duplicates)],
    ['Reordered', integer(delivery.reordered)],
    ['Unexpected', integer(delivery.unexpected)],
    ['Late', integer(delivery.late)],
    ...otherCopies(delivery).map(({ title, count }) => [title, integer(count)]),
    ['Data Sent', `${megabytes(broadcasts * payloadBytes)} MB`],
    ['Data Received', `${megabytes(received * payloadBytes)} MB`],
    ...redisRows(result).map(([title, value, note]) => [title, [value, note].filter(Boolean).join(', ')]),
    ['Avg Data per Connection', peak > 0 ? `${kilobytes((received * payloadBytes) / peak)} KB` : '–'],
  ];
  const notes = sourceNotes(delivery).map((note) => escapeMarkdown(note));
  return [markdownTable(['Metric', 'Value'], rows), ...notes, ...coverage(delivery.batches)];
}

/** The worst first, so that the ten shown hide nothing. */
function coverage(batches: Batch[]): string[] {
  if (batches.length === 0) return [];
  const share = ({ expected, received }: Batch) => (expected > 0 ? received / expected : 0);
  const shown = batches.toSorted((a, b) => share(a) - share(b) || a.seq - b.seq).slice(0, BATCH_ROWS);
  const rows = shown.map((batch) => [
    batchName(batch),
    integer(batch.expected),
    integer(batch.received),
    percentOf(batch.received, batch.expected),
    optional(batch.serverMembers, integer),
    ...[batch.firstMs, batch.p50Ms, batch.p99Ms, batch.lastMs].map((ms) => optional(ms, milliseconds)),
  ]);
  const head = ['Batch', 'Expected', 'Received', 'Coverage', 'Members (server)', 'First ms', 'p50', 'p99', 'Last'];
  return [
    `Per-batch message coverage (${shown.length} of ${integer(batches.length)}, lowest first)`,
    markdownTable(head, rows),
  ];
}

function capacity({ capacity: { seedTheoreticalMax }, memory, connections: { peak } }: Result): string {
  const used = seedTheoreticalMax ? percentOf(peak, seedTheoreticalMax) : '–';
  return [
    `- **Peak Memory Usage:** ${optional(memory.peakBytes.workerRss, (bytes) => `${megabytes(bytes)} MB`)}`,
    `- **Theoretical Max Connections:** ${optional(seedTheoreticalMax, integer)}`,
    `- **Current Utilization:** ${used} of theoretical maximum`,
  ].join('\n');
}
