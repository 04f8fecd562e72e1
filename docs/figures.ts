/** Shows figures of runs in cells and tables of the site. A figure is given by its key in the result. */
import type { Result } from '../protocol/result/result.ts';
import {
  type ComparableFigure,
  figureByKey,
  intervalAt,
  knownValueAt,
  titleOfFigure,
  valueAtKey,
} from '../report/figures/figures.ts';
import { turnoverText } from '../report/figures/held.ts';
import { numberText, type QuantityName } from '../report/model/amount.ts';
import { figuresTable } from '../report/model/document.ts';
import { tableHtml } from '../report/render/blocks.ts';
import type { Html } from '../report/render/markup.ts';
import { spreadOf } from '../report/statistics/spread.ts';
import { integerText } from '../report/text/format.ts';

/**
 * Returns the figure with this key.
 * @throws Error if there is no such figure
 */
export function shownFigure(path: string): ComparableFigure {
  const found = figureByKey(path);
  if (!found) throw new Error(`no figure ${path}`);
  return found;
}

/** Returns the title of a figure with its unit. */
export function figureTitle(path: string): string {
  return titleOfFigure(shownFigure(path));
}

/**
 * Returns the mean over several runs, with the lowest and highest value. If the 95 % interval within a run is wider, it
 * is shown instead.
 */
export function figureCell(results: Result[], path: string): string {
  const { quantity } = shownFigure(path);
  const spread = spreadOf(results.flatMap((result) => knownValueAt(result, path) ?? []));
  if (!spread) return '–';
  const [mean = '', min, max] = [spread.mean, spread.min, spread.max].map((value) => numberText(quantity, value));
  const halfWidths = results.flatMap((result) => halfWidth(result, path) ?? []);
  const within = Math.hypot(...halfWidths) / spread.runs;
  if (halfWidths.length === spread.runs && within > (spread.max - spread.min) / 2) {
    return `${mean} ± ${numberText(quantity, within)}`;
  }
  return min === max ? mean : `${mean} (${min} to ${max})`;
}

/** Returns the half-width of the figure's 95 % interval within the run. */
function halfWidth(result: Result, path: string): number | null {
  const interval = intervalAt(result, path);
  return interval && (interval.high95 - interval.low95) / 2;
}

/** Row of a table: its title, the published values by column, and a function for the value of this project's run. */
export type Row = [question: string, printed: string[], ours: (result: Result) => string];

/**
 * Returns a function for the cell of a value that is not a declared figure.
 * @param quantity kind of quantity; it determines the format
 */
export function at(path: string, quantity: QuantityName): Row[2] {
  return (result) => {
    const value = valueAtKey(result, path);
    return typeof value === 'number' ? numberText(quantity, value) : '–';
  };
}

/** @param printed published values; empty if only this project's runs have the figure */
export function figureRow(path: string, printed: string[] = [], question = figureTitle(path)): Row {
  return [question, printed, (result) => figureCell([result], path)];
}

/** Table that compares published values with runs of this project. */
export interface SideBySide {
  title: string;
  /** Headings of the published columns. */
  published: string[];
  rows: Row[];
}

/** @param columns columns from left to right: the index of a published column, or a run of this project */
export function sideBySide({ title, published, rows }: SideBySide, columns: (number | Result)[]): Html {
  const heading = (column: number | Result) =>
    typeof column === 'number'
      ? (published[column] ?? '')
      : `us, ${turnoverText(column) ?? integerText(column.connections.target)}: ${column.verdict.status}`;
  const cells = rows.map(([question, printed, ours]) => [
    question,
    ...columns.map((column) => (typeof column === 'number' ? (printed[column] ?? '–') : ours(column))),
  ]);
  return tableHtml(figuresTable(title, ['', ...columns.map(heading)], cells));
}

/** Removes empty lines, because they would end an HTML block in Markdown. */
export function inMarkdown({ markup }: Html): string {
  return markup.replace(/\n\s*\n/g, '\n').trim();
}
