/** Tables that the published benchmark report lacks: slopes with intervals, latency, CPU. */

import type { Summary } from '../../protocol/result/parts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { layerTitle, slopeLayers } from '../figures/layers.ts';
import { cpuCells, cpuHead, cpuNotes } from '../text/cpu-cells.ts';
import { decimals, integer, kilobytes, megabytes, percentile } from '../text/format.ts';
import { broadcastNotes, fromNotes, oneWayTitle } from '../text/latency-notes.ts';
import {
  basisOf,
  collectionNotes,
  doubts,
  noCapacity,
  plateauMemory,
  slopesNote,
  workerSources,
} from '../text/memory-text.ts';
import { limitName, limitNote, noPingLimit } from '../text/ping-text.ts';
import { escapeMarkdown, markdownTable } from './table.ts';

export function perConnection(result: Result): string {
  const { memory, absent } = result;
  if (absent.memory !== undefined) return notMeasured(absent.memory);
  const rows = slopeLayers(result).map((layer) => {
    const line = memory.perConnectionBytes[layer] as Result['memory']['perConnectionBytes'][string];
    const inService = memory.inService?.perConnectionBytes[layer];
    return [
      escapeMarkdown(layerTitle(result, layer)),
      kilobytes(line.slope),
      halfWidth(line),
      optional(inService?.slope, kilobytes),
      inService ? halfWidth(inService) : '–',
      // Rounded down, so that only a perfect line is 1.
      decimals(Math.floor(line.r2 * 1000) / 1000, 3),
      kilobytes(line.naive),
      optional(memory.residualBytes[layer], megabytes),
    ];
  });
  if (rows.length === 0) return 'Not measured: a slope needs memory readings at two or more numbers of connections.';
  return [
    markdownTable(['Layer', plateauMemory(memory), '95 %', 'In service', '95 %', 'R²', 'Naive', 'Residual (MB)'], rows),
    `In KB (1,024 bytes). ${slopesNote(memory)}`,
    ...workerSources(result).map((source) => `Source of ${escapeMarkdown(source)}.`),
    ...doubts(result).map((doubt) => `Not to be quoted: ${escapeMarkdown(doubt)}.`),
    ...collectionNotes(result),
  ].join('\n\n');
}

function halfWidth({ slope, high95 }: { slope: number; high95: number | null }): string {
  return high95 === null ? '–' : `± ${kilobytes(high95 - slope)}`;
}

/** @param reason why a section is missing */
export function notMeasured(reason: string | undefined): string {
  return reason === undefined ? 'Not measured.' : `Not measured: ${escapeMarkdown(reason)}.`;
}

export function latency({ latency: times, absent }: Result): string {
  const named: [string, Summary | null][] = [
    [`${oneWayTitle(times)}, every receiver`, times.oneWayMs],
    ['– on the publisher’s worker', times.localMs],
    ['– on another worker', times.crossWorkerMs],
    ['Reference receiver', times.sentinelMs],
    ['Completion: the last receiver', times.completionMs],
    ['Round trip ÷ 2 under load', times.roundTripHalfMs.underLoad],
    ['Round trip ÷ 2 unloaded', times.roundTripHalfMs.single],
    ['Send delay', times.sendDelayMs],
  ];
  const rows = named.flatMap(([name, summary]) => (summary ? [latencyRow(name, summary)] : []));
  if (rows.length === 0) return notMeasured(absent.latency);
  return `${markdownTable(['', 'Count', 'Mean', 'p50', 'p90', 'p99', 'p99.9', 'Max'], rows)}\n\n${['In ms.', ...fromNotes(times), ...broadcastNotes(times)].join('\n\n')}`;
}

function latencyRow(name: string, { count, mean, p50, p90, p99, p999, max }: Summary): string[] {
  return [name, integer(count), ...[mean, p50, p90, p99, p999, max].map(percentile)];
}

export function cpu(result: Result): string {
  const rows = cpuCells(result).map(([layer, cells]) => [escapeMarkdown(layerTitle(result, layer)), ...cells]);
  if (rows.length === 0) return notMeasured(result.absent.cpu);
  const table = markdownTable(cpuHead(result), rows);
  const { cpu: absent } = result.absent;
  const notes = absent === undefined ? [] : [`The server’s CPU was not measured: ${escapeMarkdown(absent)}.`];
  return [table, ...notes, ...cpuNotes(result)].join('\n\n');
}

export function limits(result: Result): string {
  const { memoryLimited, limits } = result.capacity;
  const rows: string[][] = [];
  if (memoryLimited) {
    const { budgetBytes, connections: fitting, low95, high95 } = memoryLimited;
    const interval =
      low95 === null || high95 === null ? 'no interval' : `95 %: ${integer(low95)} to ${integer(high95)}`;
    const basis = basisOf(memoryLimited);
    rows.push([`Fit in ${megabytes(budgetBytes)} MB of workers`, integer(fitting), `${basis}; ${interval}`]);
  }
  const unknown = noCapacity(result);
  if (unknown !== null) rows.push(['Fit in the memory budget', '–', `the workers’ memory: ${unknown}`]);
  for (const { name, max } of limits) {
    rows.push([
      `Limit: ${escapeMarkdown(limitName(result, name))}`,
      integer(max),
      escapeMarkdown(limitNote(result, name)),
    ]);
  }
  for (const { name, why } of result.capacity.unknown) {
    rows.push([`Limit: ${escapeMarkdown(limitName(result, name))}`, '–', `not known: ${escapeMarkdown(why)}`]);
  }
  const noPings = noPingLimit(result);
  if (noPings !== null) rows.push(['Limit: pings', '–', `not known: ${escapeMarkdown(noPings)}`]);
  return rows.length === 0 ? notMeasured(result.absent.memory) : markdownTable(['Connections', 'Value', ''], rows);
}

export function optional(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}
