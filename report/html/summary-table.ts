/** A table of distributions, one per row. */
import type { Summary } from '../../protocol/result/parts.ts';
import { integer, percentile } from '../text/format.ts';
import type { Html, HtmlValue } from './html.ts';
import { dataTable, NOT_MEASURED } from './section.ts';

export function summaryTable(caption: string, rows: (readonly [HtmlValue, Summary | null])[]): Html {
  return dataTable(
    caption,
    ['ms', 'p50', 'p90', 'p99', 'p99.9', 'Max', 'Mean', 'Count'],
    rows.map(([name, summary]) => {
      if (summary === null) return [name, NOT_MEASURED, ...Array<string>(6).fill('')];
      const { p50, p90, p99, p999, max, mean, count } = summary;
      return [name, ...[p50, p90, p99, p999, max, mean].map(percentile), integer(count)];
    }),
  );
}
