/** What several sections are made of. */
import type { Summary } from '../../protocol/result/parts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { amount } from '../model/amount.ts';
import { grid, type Table } from '../model/document.ts';

export const NO_SAMPLES = 'Not measured: there are no samples.';

/** In results of versions that did not give the reason, only an external engine left delivery out. */
export function whyNoDelivery({ absent }: Pick<Result, 'absent'>): string {
  return absent.delivery ?? 'this engine does not report which broadcasts arrive';
}

/** @returns whether broadcasts are a question: not while connections come and go, or send messages instead */
export function hasBroadcasts({ delivery, messages, memory }: Result): boolean {
  if (delivery === null) return memory.overTime === null;
  const { expected, received, unexpected, outside, neverOrdered } = delivery;
  return messages === null || expected + received + unexpected + outside + neverOrdered > 0;
}

/** Distributions, one per row, in milliseconds; without those that were not measured. */
export function summaries(title: string, rows: [name: string, summary: Summary | null][], folded = false): Table {
  const head = ['ms', 'p50', 'p90', 'p95', 'p99', 'p99.9', 'Max', 'Mean', 'Count'];
  const cells = rows.flatMap(([name, summary]) => {
    if (summary === null) return [];
    const { p50, p90, p95, p99, p999, max, mean, count } = summary;
    const times = [p50, p90, p95, p99, p999, max, mean].map((ms) => amount('milliseconds', ms));
    return [[name, ...times, amount('count', count)]];
  });
  return grid(title, head, cells, folded);
}
