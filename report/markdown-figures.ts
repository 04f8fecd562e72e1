/** The tables that the published benchmark report does not have: slopes with intervals, latency, CPU. */
import type { Result, Summary } from '../protocol/result.ts';
import { decimals, integer, kilobytes, megabytes, percentile, spaced, withMargin } from './format.ts';
import { broadcastNotes } from './latency-notes.ts';
import { inOrder, layerTitle } from './layers.ts';
import { escapeMarkdown, markdownTable } from './markdown-table.ts';

export function perConnection(result: Result): string {
  const { memory } = result;
  const rows = inOrder(result, Object.keys(memory.perConnectionBytes)).map((layer) => {
    const line = memory.perConnectionBytes[layer] as Result['memory']['perConnectionBytes'][string];
    return [
      escapeMarkdown(layerTitle(result, layer)),
      kilobytes(line.slope),
      line.high95 === null ? '–' : `± ${kilobytes(line.high95 - line.slope)}`,
      // Rounded down, so that only a perfect line is 1.
      decimals(Math.floor(line.r2 * 1000) / 1000, 3),
      kilobytes(line.naive),
      optional(memory.residualBytes[layer], megabytes),
    ];
  });
  if (rows.length === 0) return 'Not measured: a slope needs memory at two numbers of connections.';
  return [
    markdownTable(['Layer', 'Slope', '95 %', 'R²', 'Naive', 'Left after (MB)'], rows),
    'In KB (1,024 bytes). Slope: least squares over the plateaus. Naive: (peak − baseline) ÷ connections, as in the Techracers study.',
  ].join('\n\n');
}

export function latency({ latency: times }: Result): string {
  const named: [string, Summary | null][] = [
    ['One way, every receiver', times.oneWayMs],
    ['– on the publisher’s worker', times.localMs],
    ['– on another worker', times.crossWorkerMs],
    ['Sentinel', times.sentinelMs],
    ['Completion: the last receiver', times.completionMs],
    ['Round trip ÷ 2 under load', times.roundTripHalfMs.underLoad],
    ['Round trip ÷ 2 alone', times.roundTripHalfMs.single],
    ['Send delay', times.sendDelayMs],
  ];
  const rows = named.flatMap(([name, summary]) => (summary ? [latencyRow(name, summary)] : []));
  if (rows.length === 0) return 'Not measured.';
  return `${markdownTable(['', 'Count', 'Mean', 'p50', 'p90', 'p99', 'p99.9', 'Max'], rows)}\n\n${['In ms.', ...broadcastNotes(times)].join('\n\n')}`;
}

function latencyRow(name: string, { count, mean, p50, p90, p99, p999, max }: Summary): string[] {
  return [name, integer(count), ...[mean, p50, p90, p99, p999, max].map(percentile)];
}

export function cpu(result: Result): string {
  const rows = inOrder(result, Object.keys(result.cpu)).map((layer) => {
    const figures = result.cpu[layer] as Result['cpu'][string];
    const { intervals: sure } = figures;
    return [
      escapeMarkdown(layerTitle(result, layer)),
      withMargin(figures.rampSecondsPerThousandConnects, sure?.rampSecondsPerThousandConnects, (seconds) =>
        decimals(seconds, 3),
      ),
      withMargin(figures.idlePercent, sure?.idlePercent, (percent) => decimals(percent, 1)),
      withMargin(figures.broadcastMicrosecondsPerMessage, sure?.broadcastMicrosecondsPerMessage, (us) =>
        decimals(us, 1),
      ),
    ];
  });
  if (rows.length === 0) return 'Not measured.';
  return markdownTable(['Layer', 's per 1,000 connects', '% of a core, idle', 'µs per message'], rows);
}

export function limits({ capacity: { memoryLimited, limits, lowest } }: Result): string {
  const rows: string[][] = [];
  if (memoryLimited) {
    const { budgetBytes, connections: fitting, low95, high95 } = memoryLimited;
    const interval =
      low95 === null || high95 === null ? 'no interval' : `95 %: ${integer(low95)} to ${integer(high95)}`;
    rows.push([`Fit in ${megabytes(budgetBytes)} MB of workers`, integer(fitting), interval]);
  }
  for (const { name, max } of limits) {
    rows.push([`Wall: ${escapeMarkdown(spaced(name))}`, integer(max), name === lowest ? 'the lowest' : '']);
  }
  return rows.length === 0 ? 'Not measured.' : markdownTable(['Connections', 'Value', ''], rows);
}

export function optional(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}
