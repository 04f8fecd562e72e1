/** Renders sections and tables of the reference as Markdown. */
import type { MetricDefinition } from '../../protocol/base/metric.ts';
import { defaultOf, describedKeys, keysOf, type Node, valuesOf } from './schema.ts';

export const OPTION = ['key', 'value', 'default', 'meaning'];

/** Returns rows with key, values, default and meaning. */
export function optionRows(node: Node, seen = new Map<string, string>()): string[][] {
  return describedKeys(keysOf(node), seen).map(({ paths, node, isRequired, text }) => [
    ...[paths, valuesOf(node), defaultOf(node) || (isRequired ? 'required' : ''), text],
  ]);
}

export function catalogue(all: Record<string, string>): string[][] {
  return Object.entries(all).map(([name, help]) => [code(name), help]);
}

export function seriesTable(series: (MetricDefinition & { labels: string[] })[]): string {
  const rows = series.map(({ name, kind, unit, labels, help }) => [
    ...[code(name), kind, unit, labels.map(code).join(', '), help],
  ]);
  return table(['series', 'kind', 'unit', 'labels', 'meaning'], rows);
}

/** Renders a table. Columns that are empty in all rows are omitted. */
export function table(heading: string[], rows: string[][]): string {
  const kept = heading.map((_, column) => rows.some((row) => row[column] !== ''));
  const lines = [heading, heading.map(() => '---'), ...rows].map((row) => {
    const cells = row.filter((_, column) => kept[column]).map((cell) => escaped(cell).replaceAll('|', '\\|'));
    return `|${cells.join('|')}|`;
  });
  return rows.length === 0 ? '' : lines.join('\n');
}

export function section(heading: string, ...parts: string[]): string {
  const written = parts.filter((part) => part !== '').map((part) => part.charAt(0).toUpperCase() + part.slice(1));
  return [`## ${heading}`, ...written].join('\n\n');
}

export function code(text: string | number): string {
  return `\`${text}\``;
}

/** Escapes `<` outside of code. VitePress would otherwise interpret it as HTML. */
export function escaped(text: string): string {
  const parts = text.split('`').map((part, index) => (index % 2 === 0 ? part.replaceAll('<', '&lt;') : part));
  return parts.join('`');
}
