/** Formats cells and aligns columns of tables, for all formats of a report. */
import { cellText } from './amount.ts';
import type { Table } from './document.ts';

/**
 * Longest number with unit and interval, in characters. A longer text that begins with a number counts as a sentence.
 */
const MAX_NUMBER = 24;

/** Signs that replace colours in plain text. */
export const TONE_SIGNS = { better: '▲', worse: '▼' };

export type ColumnAlignment = 'left' | 'right';

export function tableTextCells({ rows, bare }: Pick<Table, 'rows' | 'bare'>): string[][] {
  return rows.map((row) =>
    row.map((cell) => {
      if (typeof cell === 'string') return cell;
      return 'mark' in cell ? `${TONE_SIGNS[cell.mark]} ${cell.text}` : cellText(cell, bare);
    }),
  );
}

/**
 * Returns how each column is aligned. Columns with mostly numbers are right-aligned, except the first column, which has
 * the names.
 */
export function columnAlignments(rows: string[][]): ColumnAlignment[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: columns }, (_, column) => {
    const all = rows.map((row) => row[column] ?? '').filter((text) => text !== '');
    const cells = all.filter((text) => text !== '–');
    const numbers = cells.filter((text) => /^[≥+-]?\s?\d/.test(text) && text.length <= MAX_NUMBER);
    const areNumbers = cells.length > 0 ? numbers.length > cells.length / 2 : all.length > 0;
    return column > 0 && areNumbers ? 'right' : 'left';
  });
}
