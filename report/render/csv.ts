/** Renders the time series of the result as CSV: one row per second, for a spreadsheet or a notebook. */
import { stringify } from 'csv-stringify/sync';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import type { Result } from '../../protocol/result/result.ts';

/**
 * Maximum number of columns: three times the number in a normal run. Otherwise, rows with many different names could
 * make the file grow without limit.
 */
const MAX_COLUMNS = 300;

/**
 * Renders the columns `t` and `connections`, then a column for each value, such as `worker.rssBytes`. Cells of values
 * that were not measured are empty.
 */
export function renderSamplesCsv({ samples }: Result): string {
  const rows = samples.map((sample) => flat(sample));
  const columns = new Set(['t', 'connections', ...rows.flatMap((row) => Object.keys(row))]);
  // Spreadsheet programs would run some texts as formulas, so such texts are changed.
  return escapeEachLine(
    stringify(rows, { header: true, columns: [...columns].slice(0, MAX_COLUMNS), escape_formulas: true }),
  );
}

function flat(row: object, prefix = ''): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).flatMap(([key, value]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(flat(value, `${prefix}${key}.`))
        : [[prefix + key, value]],
    ),
  );
}
