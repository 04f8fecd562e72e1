/** What several sections are made of. */
import type { Summary } from '../../protocol/result/parts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { amount, type QuantityName } from '../model/amount.ts';
import { type Fact, type Finding, grid, type Table } from '../model/document.ts';

export const NO_SAMPLES = 'Not measured: there are no samples.';

/** @returns whether broadcasts are a question: not while connections come and go, or send messages instead */
export function hasBroadcasts({ delivery, messages, memory }: Result): boolean {
  if (delivery === null) return memory.overTime === null;
  const { expected, received, unexpected, outside, neverOrdered } = delivery;
  return messages === null || expected + received + unexpected + outside + neverOrdered > 0;
}

/** @returns a figure of broadcasts that is not known; where messages were sent instead, they are no question */
export function unknownFigure({ messages }: Result, name: string, quantity: QuantityName, note: string): Finding[] {
  return messages ? [] : [{ text: null, figure: { name, value: amount(quantity, null), note } }];
}

/** @returns a fact; false where it was not measured */
export function known(name: string, quantity: QuantityName, value: number | null = null, note = ''): Fact | false {
  return value !== null && [name, amount(quantity, value), note];
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
