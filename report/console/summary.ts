/** The run in a line per question. The tables behind it are for `--verbose` and the reports. */
import type { Result } from '../../protocol/result/result.ts';
import { connectionCost, costText } from '../answer/cost.ts';
import { mainWorkerLayer } from '../figures/layers.ts';
import { whyNoDelivery } from '../text/absent.ts';
import { messageHeadline } from '../text/client-messages.ts';
import { faultHeadline, faultTimes } from '../text/fault-text.ts';
import { breakdown, counted, decimals, integer, milliseconds, percentile, percentOf, tailOf } from '../text/format.ts';
import { heldOf } from '../text/held.ts';
import { hostsLine } from '../text/hosts.ts';
import { oneWayTitle } from '../text/latency-notes.ts';
import { noCapacity, workerSources } from '../text/memory-text.ts';
import { otherCopies, sourceNotes } from '../text/other-copies.ts';
import { comesAndGoes } from '../text/over-time-text.ts';
import { reconnectionNote } from '../text/reconnection.ts';
import { toRooms } from '../text/rooms.ts';
import { transportNote } from '../text/transports.ts';

/** @returns title and text of each line; none about what was not measured, except for the delivery */
export function summaryRows(result: Result): [title: string, text: string][] {
  const rows: [string, string | null][] = [
    ['Connections', connections(result)],
    ...Object.entries(result.connections.failureExamples).map(([cause, text]): [string, string] => [
      '',
      `first ${cause}: ${text}`,
    ]),
    ['Connect time', connectTime(result)],
    ['Clients', [transportNote(result), reconnectionNote(result)].filter(Boolean).join('; ') || null],
    ['Fault', result.fault && `${faultHeadline(result.fault)}${faultTimes(result.fault)}`],
    ['Messages', result.messages && messageHeadline(result.messages)],
    ['Delivery', delivery(result)],
    ...(result.delivery ? sourceNotes(result.delivery) : []).map((text): [string, string] => ['', text]),
    ['Latency', latency(result)],
    ['Memory', memory(result)],
    ['CPU', cpu(result)],
    ['Hosts', hostsLine(result)],
    ['Generator', generator(result)],
    ['Capacity', capacity(result)],
  ];
  return rows.flatMap(([title, text]) => (text === null || text === '' ? [] : [[title, text]]));
}

function connections(result: Result): string {
  const { connections: made } = result;
  const { failed, failures, lost, skipped, retries, achievedRatePerSec, configuredRatePerSec, perWorker } = made;
  const count =
    result.verdict.status === 'INVALID' || made.held === null
      ? `${integer(made.peak)} of ${integer(made.target)} at the peak`
      : `${integer(heldOf(made))} of ${integer(made.target)} held`;
  const gone = Object.values(lost).reduce((total, count) => total + count, 0);
  const workers = Object.keys(perWorker).length;
  return [
    comesAndGoes(result) ?? count,
    ...(failed > 0 ? [`${integer(failed)} failed (${breakdown(failures)})`] : []),
    ...(gone > 0 ? [`${integer(gone)} lost (${breakdown(lost)})`] : []),
    ...(skipped > 0 ? [`${integer(skipped)} skipped`] : []),
    ...(retries > 0 ? [counted(retries, 'retry').replace('retrys', 'retries')] : []),
    ...(achievedRatePerSec === null ? [] : [rate(achievedRatePerSec, configuredRatePerSec)]),
    ...(workers > 0 ? [`on ${counted(workers, 'worker')}`] : []),
  ].join(', ');
}

function rate(achieved: number, configured: number | null): string {
  return `${decimals(achieved, 1)}/s${configured === null ? '' : ` of ${decimals(configured, 1)}/s configured`}`;
}

function connectTime({ connections: { connectMs } }: Result): string | null {
  if (!connectMs) return null;
  return `p50 ${milliseconds(connectMs.p50)}, p99 ${percentile(connectMs.p99)}, max ${milliseconds(connectMs.max)} ms`;
}

function delivery(result: Result): string {
  const { delivery: found } = result;
  if (found === null) return `not measured: ${whyNoDelivery(result)}`;
  if (found.broadcasts === 0) return 'no broadcast was sent';
  const { broadcasts, payloadBytes, expected, received, duplicates, reordered, unexpected, late } = found;
  const kinds: [number, string][] = [
    [found.lostConnected + found.lostDisconnected, 'lost'],
    [duplicates, 'received twice'],
    [reordered, 'reordered'],
    [unexpected, 'unexpected'],
    [late, 'late'],
    ...otherCopies(found).map(({ count, title }): [number, string] => [count, title.toLowerCase()]),
  ];
  const others = kinds.flatMap(([count, what]) => (count > 0 ? [`${integer(count)} ${what}`] : []));
  const sent = `${counted(broadcasts, 'broadcast')} of ${integer(payloadBytes)} bytes${toRooms(found)}`;
  return [
    `${sent}: ${integer(received)} of ${integer(expected)} receipts (${percentOf(received, expected)})`,
    ...others,
  ].join(', ');
}

function latency({ latency: times }: Result): string | null {
  const { oneWayMs, completionMs, roundTripHalfMs } = times;
  if (!oneWayMs) return null;
  const half = roundTripHalfMs.underLoad;
  return [
    `${oneWayTitle(times).toLowerCase()} ${[...new Set([`p50 ${milliseconds(oneWayMs.p50)} ms`, tailOf(oneWayMs)])].join(', ')}`,
    ...(completionMs
      ? [`last receiver p50 ${milliseconds(completionMs.p50)}, max ${milliseconds(completionMs.max)} ms`]
      : []),
    ...(half ? [`round trip ÷ 2 ${milliseconds(half.p50)} ms`] : []),
  ].join('; ');
}

/** At rest: memory in service is in the answer. */
function memory(result: Result): string | null {
  if (result.verdict.status === 'INVALID' || result.memory.overTime || result.fault) return null;
  if (!result.memory.collected) {
    const sources = workerSources(result);
    return sources.length > 0 ? `no garbage collection was forced; ${sources.join('; ')}` : null;
  }
  const cost = connectionCost(result);
  return cost && costText(cost, 'atRest');
}

/** Layers without a figure that is more than its error have none here. */
function cpu({ cpu: layers, absent }: Result): string | null {
  if (absent.cpu !== undefined) return null;
  const parts = Object.entries({ worker: 'workers', nginx: 'nginx' }).flatMap(([id, title]) => {
    const cost = layers[id];
    const connects = cost?.rampSecondsPerThousandConnects ?? null;
    const copies = cost?.broadcastMicrosecondsPerMessage ?? null;
    const figures = [
      ...(connects === null ? [] : [`${decimals(connects, 2)} s per 1,000 connects`]),
      ...(copies === null ? [] : [`${decimals(copies, 1)} µs per copy`]),
    ];
    return figures.length > 0 ? [`${title} ${figures.join(', ')}`] : [];
  });
  return parts.length > 0 ? parts.join('; ') : null;
}

/** Whether the generator kept up. */
function generator({ generator: loops, machine }: Result): string | null {
  const [p99Ms, maxMs] = [loops.map((loop) => loop.delayP99Ms), loops.map((loop) => loop.delayMaxMs)];
  const late =
    loops.length > 0
      ? `loops at most ${decimals(Math.max(...p99Ms), 1)} ms late (p99), ${decimals(Math.max(...maxMs), 1)} ms (max)`
      : null;
  const shares = Object.values(machine?.cpuIdlePercent ?? {}).filter((share) => share !== null);
  const idle = shares.length > 0 ? `its machine at least ${decimals(Math.min(...shares), 0)} % idle` : null;
  return [late, idle].filter(Boolean).join(', ') || null;
}

function capacity(result: Result): string | null {
  const { capacity: found, verdict, memory } = result;
  if (verdict.status === 'INVALID') return null;
  const unknown = noCapacity(result);
  if (found.memoryLimited) {
    const { budgetBytes, connections: fitting } = found.memoryLimited;
    return `${integer(fitting)} connections fit in ${integer(budgetBytes / 1024 ** 2)} MB of workers`;
  }
  const known = mainWorkerLayer(memory.perConnectionBytes) in memory.perConnectionBytes;
  return known && unknown !== null ? `not known (workers' memory: ${unknown})` : null;
}
