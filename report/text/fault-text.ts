/** What a planned fault cost, as rows and sentences. */
import type { FaultKind } from '../../protocol/fault.ts';
import type { Fault } from '../../protocol/result/fault.ts';
import type { Result } from '../../protocol/result/result.ts';
import { layerTitle, WHOLE_MACHINE } from '../figures/layers.ts';
import { counted, decimals, integer, percentOf } from './format.ts';

interface FaultRow {
  title: string;
  value: string;
  note: string;
}

const NOTABLE_MS = 100;

const SESSIONS = {
  on: 'The server keeps the sessions of those that dropped (connection state recovery).',
  off: 'The server keeps no sessions (connection state recovery is off).',
};

const NAMES: Record<Exclude<FaultKind, 'command'>, string> = {
  'reload-workers': 'pm2 reload',
  'kill-worker': 'a worker killed',
  'reload-nginx': 'nginx reloaded',
  'restart-redis': 'Redis restarted',
  'drop-connections': 'all connections dropped at once',
};

/** @returns such as "pm2 reload", or "command `systemctl`" with the program of the user's command */
export function faultName({ kind, command }: Fault): string {
  if (kind === 'command') return command === null ? kind : `command \`${command}\``;
  return NAMES[kind];
}

/** @returns such as "a worker killed: 500 of 1,000 connections dropped, all back after 1.03 s, 0.9 % of the copies missed" */
export function faultHeadline(fault: Fault): string {
  const { connections, dropped, back, backMs, broadcasts } = fault;
  const after = backMs.all === null ? `${percentOf(back, dropped)} back` : `all back after ${seconds(backMs.all)} s`;
  const drops =
    dropped === 0
      ? 'no connection dropped'
      : `${integer(dropped)} of ${counted(connections, 'connection')} dropped, ${after}`;
  return `${faultName(fault)}: ${[drops, ...missedText(broadcasts)].join(', ')}`;
}

function missedText(broadcasts: Fault['broadcasts']): string[] {
  if (!broadcasts || broadcasts.due === 0) return [];
  const { missed, due } = broadcasts;
  return [missed === 0 ? 'no copy missed' : `${percentOf(missed, due)} of the copies meanwhile missed`];
}

/** @returns what comes after the headline, such as "; half after 0.76 s, 99 % after 1.01 s, at most 480 attempts/s" */
export function faultTimes({ dropped, backMs, peakAttemptsPerSec }: Fault): string {
  if (dropped === 0) return '';
  const times = [
    ['half', backMs.p50],
    ['99 %', backMs.p99],
  ] as const;
  const after = times.flatMap(([share, ms]) => (ms === null ? [] : [`${share} after ${seconds(ms)} s`]));
  return `; ${[...after, `at most ${integer(peakAttemptsPerSec)} attempts/s`].join(', ')}`;
}

export function faultRows(result: Result): FaultRow[] {
  const { fault } = result;
  if (!fault) return [];
  const { connections, stayed, dropped, back, backMs, drops, recovered, returns, broadcasts } = fault;
  const row = (title: string, value: string, note = ''): FaultRow => ({ title, value, note });
  const away = total(fault.notBack);
  const more = drops > dropped ? `${integer(drops)} times, some more than once` : '';
  const restored = `${integer(recovered)} of ${counted(returns, 'return')} had their session restored`;
  return [
    row('Connections at the fault', integer(connections)),
    row('Stayed', integer(stayed), percentOf(stayed, connections)),
    row('Dropped', integer(dropped), [percentOf(dropped, connections), more].filter(Boolean).join('; ')),
    ...(dropped === 0
      ? []
      : [
          row('Back', integer(back), restored),
          row('Not back', integer(away), listed(fault.notBack)),
          row('Half of the dropped back after', time(backMs.p50), 's'),
          row('99 % back after', time(backMs.p99), 's'),
          row('All back after', time(backMs.all), 's'),
          row(
            'Peak attempts',
            integer(fault.peakAttemptsPerSec),
            `per second; returns: ${integer(fault.peakReturnsPerSec)}`,
          ),
          row('Failed attempts', integer(total(fault.failedAttempts)), listed(fault.failedAttempts)),
        ]),
    ...cpuRows(result, fault).map(([title, percent, of]) => row(`CPU peak, ${title}`, decimals(percent, 0), of)),
    ...(broadcasts ? broadcastRows(broadcasts).map(([title, value, note]) => row(title, value, note)) : []),
  ];
}

function broadcastRows(broadcasts: NonNullable<Fault['broadcasts']>): [string, string, string][] {
  const { sent, notSent, due, resent, lost, absent, missed } = broadcasts;
  const unsent = notSent > 0 ? `${integer(notSent)} could not be sent` : '';
  const why = `${integer(absent)} while away, ${integer(lost)} while connected or just before the end`;
  return [
    ['Broadcasts meanwhile', integer(sent), unsent],
    ['Copies due', integer(due), resent > 0 ? `${integer(resent)} sent again to restored sessions` : ''],
    ['Copies missed', integer(missed), due > 0 ? `${percentOf(missed, due)}: ${why}` : ''],
  ];
}

/** Workers and the machine: the others are in the chart of CPU over time. */
function cpuRows(result: Result, { peakCpuPercent }: Fault): [string, number, string][] {
  return ['worker', 'nginx', WHOLE_MACHINE].flatMap((layer): [string, number, string][] => {
    const percent = peakCpuPercent[layer];
    const of = layer === WHOLE_MACHINE ? '% of all cores' : '% of one core';
    return percent === undefined ? [] : [[layerTitle(result, layer), percent, of]];
  });
}

/** What was planned, how the clients came back, and what became of the balance. */
export function faultNotes({ environment }: Pick<Result, 'environment'>, fault: Fault): string[] {
  const { replaced, tookMs, overMs, backoff, perWorker } = fault;
  const took = tookMs !== null && tookMs >= NOTABLE_MS ? ` That alone took ${seconds(tookMs)} s.` : '';
  const over = overMs === null ? '' : ` After ${seconds(overMs)} s nothing was under way any more.`;
  const what = replaced.length > 0 ? replaced.join(', ') : 'no part of the deployment';
  const recovers = environment.server?.options.connectionStateRecovery;
  const jitter = backoff.jitter === 0 ? 'no jitter' : `${decimals(100 * backoff.jitter, 0)} % of it random`;
  const waits = `Clients wait ${seconds(backoff.delayMs)} s before their first attempt, then twice as long each time, at most ${seconds(backoff.maxDelayMs)} s; ${jitter}.`;
  const workers = Object.keys({ ...perWorker.before, ...perWorker.after }).toSorted((a, b) =>
    a.localeCompare(b, 'en', { numeric: true }),
  );
  const balance = workers.map(
    (one) => `${one} ${integer(perWorker.before[one] ?? 0)} → ${integer(perWorker.after[one] ?? 0)}`,
  );
  // Empty although some are there: restored sessions do not join again, so nothing names their worker.
  const isKnown = total(perWorker.after) > 0 || fault.stayed + fault.back === 0;
  return [
    `Planned: it replaced ${what}.${took}${over}`,
    waits + (recovers === undefined ? '' : ` ${recovers === 'false' ? SESSIONS.off : SESSIONS.on}`),
    ...(workers.length > 1 && isKnown ? [`Connections of each worker, before → after: ${balance.join(', ')}.`] : []),
  ];
}

export function seconds(ms: number): string {
  return decimals(ms / 1000, ms < 10_000 ? 2 : 1);
}

function time(ms: number | null): string {
  return ms === null ? '–' : seconds(ms);
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function listed(counts: Record<string, number>): string {
  const sorted = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
  return sorted.map(([cause, count]) => `${cause} ${integer(count)}`).join(', ');
}
