/** Functions that several sections share. */
import type { Summary } from '../../protocol/result/shared-schemas.ts';
import { amount, type QuantityName } from '../model/amount.ts';
import { figuresTable, type Table, type TableFact } from '../model/document.ts';

export const NO_SAMPLES = 'Not measured: there are no samples.';

/** Returns a row of a table; false for a value that was not measured, so that tables leave it out. */
export function knownFact(
  name: string,
  quantity: QuantityName,
  value: number | null = null,
  note = '',
): TableFact | false {
  return value !== null && [name, amount(quantity, value), note];
}

/** Returns a table of distributions in milliseconds. Distributions that were not measured are left out. */
export function summariesTable(title: string, rows: [name: string, summary: Summary | null][], folded = false): Table {
  const head = ['ms', 'p50', 'p90', 'p95', 'p99', 'p99.9', 'Max', 'Mean', 'Count'];
  const cells = rows.flatMap(([name, summary]) => {
    if (summary === null) return [];
    const { p50, p90, p95, p99, p999, max, mean, count } = summary;
    const times = [p50, p90, p95, p99, p999, max, mean].map((ms) => amount('milliseconds', ms));
    return [[name, ...times, amount('count', count)]];
  });
  return figuresTable(title, head, cells, folded);
}
