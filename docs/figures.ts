/** Figures of runs on the pages of the site: named by their path in the result, shown in cells, bars and tables. */
import type { Result } from '../protocol/result/result.ts';
import { type Figure, figureOfPath, intervalAt, knownAt, titleOf, valueAt } from '../report/figures/figures.ts';
import { comesAndGoes } from '../report/figures/held.ts';
import { numberText, type QuantityName } from '../report/model/amount.ts';
import { grid } from '../report/model/document.ts';
import { tableHtml } from '../report/render/blocks.ts';
import type { Html } from '../report/render/markup.ts';
import { spreadOf } from '../report/statistics/spread.ts';
import { integer } from '../report/text/format.ts';

/** @throws for a path that is no figure: a typing error */
export function shownFigure(path: string): Figure {
  const found = figureOfPath(path);
  if (!found) throw new Error(`no figure ${path}`);
  return found;
}

/** @returns the title with its unit */
export function figureTitle(path: string): string {
  return titleOf(shownFigure(path));
}

/** @returns the mean, with the lowest and highest of several runs, or with the 95 % interval within runs where that is wider */
export function figureCell(results: Result[], path: string): string {
  const { quantity } = shownFigure(path);
  const spread = spreadOf(results.flatMap((result) => knownAt(result, path) ?? []));
  if (!spread) return '–';
  const [mean = '', min, max] = [spread.mean, spread.min, spread.max].map((value) => numberText(quantity, value));
  const reaches = results.flatMap((result) => reachOf(result, path) ?? []);
  const within = Math.hypot(...reaches) / spread.runs;
  if (reaches.length === spread.runs && within > (spread.max - spread.min) / 2) {
    return `${mean} ± ${numberText(quantity, within)}`;
  }
  return min === max ? mean : `${mean} (${min} to ${max})`;
}

/** @returns half of the figure's 95 % interval within the run */
function reachOf(result: Result, path: string): number | null {
  const interval = intervalAt(result, path);
  return interval && (interval.high95 - interval.low95) / 2;
}

/** What a row asks, what a published study printed in each of its columns, and what a run of ours says. */
export type Row = [question: string, printed: string[], ours: (result: Result) => string];

/** @param quantity of a figure that is in no list */
export function at(path: string, quantity: QuantityName): Row[2] {
  return (result) => {
    const value = valueAt(result, path);
    return typeof value === 'number' ? numberText(quantity, value) : '–';
  };
}

/** @param printed nothing of a row that only our runs answer */
export function figureRow(path: string, printed: string[] = [], question = figureTitle(path)): Row {
  return [question, printed, (result) => figureCell([result], path)];
}

/** A table of runs side by side. */
export interface SideBySide {
  title: string;
  /** Headings of the published columns. */
  published: string[];
  rows: Row[];
}

/** @param columns from left to right: a published one by its index, or a usable run of ours */
export function sideBySide({ title, published, rows }: SideBySide, columns: (number | Result)[]): Html {
  const heading = (column: number | Result) =>
    typeof column === 'number'
      ? (published[column] ?? '')
      : `us, ${comesAndGoes(column) ?? integer(column.connections.target)}: ${column.verdict.status}`;
  const cells = rows.map(([question, printed, ours]) => [
    question,
    ...columns.map((column) => (typeof column === 'number' ? (printed[column] ?? '–') : ours(column))),
  ]);
  return tableHtml(grid(title, ['', ...columns.map(heading)], cells));
}

/** An empty line would end the HTML in Markdown. */
export function inMarkdown({ markup }: Html): string {
  return markup.replace(/\n\s*\n/g, '\n').trim();
}
