/** A comparison, and the spread of repeats, as text for a terminal. */
import { styleText } from 'node:util';
import type { Study } from '../../protocol/documents/study.ts';
import type { ConsoleOptions } from '../console/console.ts';
import { FIGURES, formatFigure } from '../figures/figures.ts';
import { wrap } from '../text/format.ts';
import { table } from '../text/table.ts';
import type { Mismatch } from './comparability.ts';
import type { ComparedFigure, Comparison, Difference } from './compare.ts';
import { ASPECTS, describeAnswer, describeSet, figureCells, headlineOf, letter, notes, titleOf } from './text.ts';

const INDENT = '  ';
const STYLES = {
  better: ['bold', 'green'],
  worse: ['bold', 'red'],
  'no-difference': [],
  'cannot-tell': [],
} as const;

/** @returns lines without a trailing newline, free of escape codes unless `color` */
export function renderComparisonConsole(comparison: Comparison, options: ConsoleOptions): string {
  const { sets, figures, mismatches } = comparison;
  const others = [...sets.keys()].slice(1);
  const lines = others.flatMap((index) => wrap(headline(comparison, index, options), options.width, INDENT));
  lines.push('', ...sets.map((set, index) => `${letter(index)}  ${describeSet(set)}`));
  lines.push(...mismatches.flatMap((mismatch) => describeMismatch(mismatch, options.width)));
  for (const index of others) lines.push('', ...comparedTo(figures, index, options));
  return [...lines, '', ...notes(figures).flatMap((note) => wrap(INDENT + note, options.width, INDENT))].join('\n');
}

function headline(comparison: Comparison, index: number, { color }: ConsoleOptions): string {
  const { answer, text } = headlineOf(comparison, index);
  return `${letter(index)} against A: ${styled(text, answer, color)}`;
}

function styled(text: string, answer: Difference['answer'], color: boolean): string {
  const style = STYLES[answer];
  return color && style.length > 0 ? styleText([...style], text, { validateStream: false }) : text;
}

function describeMismatch({ aspect, name, values }: Mismatch, width: number): string[] {
  const each = values.map((value, index) => `${letter(index)} ${value}`);
  return wrap(`${INDENT}${ASPECTS[aspect]}: ${name}: ${each.join(', ')}`, width, `${INDENT}  `);
}

/** One set against the reference. */
function comparedTo(figures: ComparedFigure[], index: number, { color }: ConsoleOptions): string[] {
  const rows = figures.map((figure) => [...figureCells(figure, index), answerText(figure, index, color)]);
  const head = ['Figure', 'A', letter(index), 'Difference', 'Interval', `${letter(index)} against A`];
  return table(head, rows, INDENT, ['left', 'right', 'right', 'right', 'right', 'left']);
}

function answerText(figure: ComparedFigure, index: number, color: boolean): string {
  const { label, note } = describeAnswer(figure, index);
  return styled(label, (figure.differences[index - 1] as Difference).answer, color) + note;
}

/** @returns a table of the figures of a series with one combination, and their spread */
export function renderSpread({ runs, combinations }: Study, { width }: ConsoleOptions): string {
  const { figures = {} } = combinations[0] ?? {};
  const rows = FIGURES.flatMap((figure) => {
    const spread = figures[figure.path];
    if (!spread) return [];
    const { mean, min, max, deviation, low95, high95 } = spread;
    const format = (value: number | null) => (value === null ? '–' : formatFigure(figure, value));
    const interval = low95 === null || high95 === null ? '–' : `${format(low95)} to ${format(high95)}`;
    const title = titleOf(figure);
    return [[title, format(mean), format(deviation), format(min), format(max), interval]];
  });
  const set = { name: 'The series', statuses: runs.flatMap(({ status }) => status ?? []) };
  const usable = set.statuses.filter((status) => status !== 'INVALID').length;
  return [
    describeSet({ ...set, usable }),
    '',
    ...table(['Figure', 'Mean', 'Deviation', 'Min', 'Max', '95 % of the mean'], rows, INDENT),
    '',
    ...wrap(
      `${INDENT}Deviation is the standard deviation between runs; the interval is Student’s 95 % interval of the mean.`,
      width,
      INDENT,
    ),
  ].join('\n');
}
