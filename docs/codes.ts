/**
 * Writes the tables of codes into their pages, from the catalogues in `protocol/codes/`. After a change of a catalogue:
 * node docs/codes.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Code } from '../protocol/codes/code.ts';
import { ERROR_CODES } from '../protocol/codes/error-codes.ts';
import { FAILURE_CODES } from '../protocol/codes/failure-codes.ts';
import { VERDICT_REASONS } from '../protocol/codes/verdict-reasons.ts';

type Row = string[];

/** Table → its heading and rows; it stands in a page between `<!-- table -->` and `<!-- /table -->`. */
const TABLES: Record<string, Row[]> = {
  reasons: [
    ['code', 'verdict', 'do not use', 'meaning', 'what to do'],
    ...Object.entries(VERDICT_REASONS).map(([code, { invalidates, meaning, remedy }]) => [
      `\`${code}\``,
      invalidates.includes('run') ? 'INVALID' : 'SUSPECT',
      invalidates.includes('run') ? 'all' : invalidates.join(', ') || '–',
      meaning,
      remedy,
    ]),
  ],
  errors: rowsOf(ERROR_CODES),
  failures: rowsOf(FAILURE_CODES),
};

export const PAGES = ['reference/errors.md', 'reference/steps.md'].map((page) => join(import.meta.dirname, page));

function rowsOf(codes: Record<string, Code>): Row[] {
  const rows = Object.entries(codes).map(([code, { meaning, remedy }]) => [`\`${code}\``, meaning, remedy]);
  return [['code', 'meaning', 'what to do'], ...rows];
}

/** @returns the page with the tables of this version */
export function withTables(page: string): string {
  return Object.entries(TABLES).reduce((text, [name, rows]) => {
    const [before, old, after] = text.split(new RegExp(`(?<=<!-- ${name} -->)|(?=<!-- /${name} -->)`));
    return old === undefined ? text : `${before}\n\n${table(rows)}\n\n${after}`;
  }, page);
}

/** @returns the table as Biome formats it */
function table(rows: Row[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`);
  return lines.toSpliced(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`).join('\n');
}

if (import.meta.main) for (const path of PAGES) writeFileSync(path, withTables(readFileSync(path, 'utf8')));
