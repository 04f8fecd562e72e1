/** Tables without lines: a head, then columns with right-aligned numbers. */
import Table from 'cli-table3';

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'mid', 'left', 'right'].flatMap((side) =>
    ['', '-mid', '-left', '-right'].map((part) => [side + part, '']),
  ),
);

/**
 * @param head empty for none
 * @param indent before every line
 * @param aligns of the columns; left for the first and right for the others when not given
 */
export function table(
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
  drawn.push(...(head.length > 0 ? [head] : []), ...rows);
  return drawn
    .toString()
    .split('\n')
    .map((line) => (indent + line).trimEnd());
}

/** A table without the last columns that do not fit into `width`. */
export function fittingTable(head: string[], rows: string[][], indent: string, width: number): string[] {
  for (let columns = head.length; ; columns--) {
    const lines = table(
      head.slice(0, columns),
      rows.map((row) => row.slice(0, columns)),
      indent,
    );
    if (columns <= 2 || lines.every((line) => line.length <= width)) return lines;
  }
}
