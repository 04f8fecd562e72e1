/** Markdown tables, and escaping of outside text. */

/** Figures are right-aligned; the first column is left-aligned. Cells must be Markdown already. */
export function markdownTable(head: string[], rows: string[][], align: 'left' | 'right' = 'right'): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, column) => (column === 0 || align === 'left' ? ':--' : '--:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

/** @returns text that no Markdown renderer takes for markup: one line, no HTML, no links, no cell borders */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .replace(/[&<>]/g, (character) => ENTITIES[character] as string)
    .replace(/[\\`*_{}[\]|~#!]/g, '\\$&');
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
