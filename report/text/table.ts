/** Formats plain-text tables without lines: a row of titles, then columns with right-aligned numbers. */
import Table from 'cli-table3';
import { oneLine } from '../../protocol/base/printable.ts';
import { wrapText } from './format.ts';

const GAP = '  ';
/** Longest number in characters. A longer cell counts as text. */
const MAX_VALUE = 24;

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'mid', 'left', 'right'].flatMap((side) =>
    ['', '-mid', '-left', '-right'].map((part) => [side + part, '']),
  ),
);

/**
 * @param head titles of columns; may be empty
 * @param indent text before every line
 * @param aligns default: left for the first column, right for the others
 */
export function tableLines(
  head: string[],
  rows: string[][],
  indent: string,
  aligns: ('left' | 'right')[] = rows[0]?.map((_, column) => (column === 0 ? 'left' : 'right')) ?? [],
): string[] {
  const drawn = new Table({
    chars: { ...NO_LINES, middle: '  ' },
    colAligns: aligns,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  });
  drawn.push(...(head.length > 0 ? [head] : []), ...rows.map((cells) => cells.map(oneLine)));
  return drawn
    .toString()
    .split('\n')
    .map((line) => (indent + line).trimEnd());
}

/** Returns a table. The last columns are left out if they do not fit into `width`. */
export function fittingTableLines(
  head: string[],
  rows: string[][],
  indent: string,
  width: number,
  aligns?: ('left' | 'right')[],
): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  let columns = head.length;
  let needed = indent.length + widths.reduce((sum, one) => sum + one, 0) + GAP.length * (columns - 1);
  while (columns > 2 && needed > width) needed -= (widths[--columns] ?? 0) + GAP.length;
  const fitting = rows.map((row) => row.slice(0, columns));
  return tableLines(head.slice(0, columns), fitting, indent, aligns?.slice(0, columns));
}

/** Returns a table of names, values and notes. A long note continues in the next line. */
export function factLines(rows: string[][], indent: string, width: number): string[] {
  const widthOf = (column: number) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0));
  const [names, values] = [widthOf(0), widthOf(1)];
  // Left-aligns long values, such as settings, because they are text.
  const isText = rows.some(([, value = '']) => value.length > MAX_VALUE);
  return rows.flatMap(([name = '', value = '', note = '']) => {
    const start = indent + name.padEnd(names) + GAP;
    if (isText) return wrapText(start + value, width, ' '.repeat(start.length));
    const figure = `${start}${value.padStart(values)}`;
    return note === '' ? [figure] : wrapText(figure + GAP + note, width, ' '.repeat(figure.length + GAP.length));
  });
}
