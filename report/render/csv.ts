/** Renders the time series of the result as CSV: one row per second, for a spreadsheet or a notebook. */
import { stringify } from 'csv-stringify/sync';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import type { Result } from '../../protocol/result/result.ts';

/**
 * Maximum number of columns, three times that of a normal run. Rows with many different names could otherwise make the
 * file grow without bound.
 */
const MAX_COLUMNS = 300;

/**
 * Renders columns `t`, `connections`, then values by dotted key, such as `worker.rssBytes`. Unmeasured values are
 * empty.
 */
export function renderSamplesCsv({ samples }: Result): string {
  const rows = samples.map((sample) => flat(sample));
  const columns = new Set(['t', 'connections', ...rows.flatMap((row) => Object.keys(row))]);
  // Prevents spreadsheet programs from running text as a formula.
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
