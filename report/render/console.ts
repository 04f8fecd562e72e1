/** Renders a report as text for a terminal. */
import { styleText } from 'node:util';
import {
  type AnswerCause,
  type AnswerTone,
  lineText,
  type ReportAnswer,
  type ReportBlock,
  type ReportDocument,
  type ReportSection,
} from '../model/document.ts';
import { columnAlignments, tableTextCells } from '../model/table-text.ts';
import { asSentence, wrapText } from '../text/format.ts';
import { factLines, fittingTableLines } from '../text/table.ts';

interface ConsoleOptions {
  /** ANSI colours. */
  color: boolean;
  /** Width of the terminal in columns. Sentences are wrapped and tables are cut to it. */
  width: number;
}

type Style = Parameters<typeof styleText>[0];

const INDENT = '  ';
/** Maximum number of rows that a terminal shows of a table; the HTML page shows all rows. */
const MAX_ROWS = 24;
const COLORS: Record<AnswerTone, Style> = { good: 'green', doubt: 'yellow', bad: 'red', plain: 'bold' };
const STATUS_COLORS = { VALID: 'green', SUSPECT: 'yellow', INVALID: 'red' } as const;

/**
 * Renders the report of a run for the end of the run's output: title and answer.
 * @param options `verbose` also prints all tables, above the answer
 * @returns lines without a trailing newline, and without escape codes unless `color`
 */
export function renderRunConsole(
  document: ReportDocument,
  options: ConsoleOptions & { verbose?: boolean; files?: string },
): string {
  const { title, subtitle, machine } = document;
  const [first = '', ...rest] = wrapText(`${title} · ${subtitle}`, options.width, INDENT);
  const [named = '', ...after] = first.split(' · ');
  return [
    [paint(options, 'bold', named), ...after].join(' · '),
    ...rest,
    ...(machine === undefined ? [] : wrapText(INDENT + machine, options.width, INDENT)),
    ...(options.verbose ? sections(document, options, MAX_ROWS) : []),
    '',
    ...answer(document.answer, options),
    ...(options.files === undefined ? [] : wrapText(options.files, options.width, INDENT)),
  ].join('\n');
}

/**
 * Renders the answer, then all sections.
 * @returns text in the format of `renderRunConsole`
 */
export function renderConsole(document: ReportDocument, options: ConsoleOptions): string {
  return [...answer(document.answer, options), ...sections(document, options, Number.POSITIVE_INFINITY)].join('\n');
}

/**
 * Renders the answer, then the sections with these ids.
 * @returns text in the format of `renderRunConsole`
 */
export function renderConsoleSummary(document: ReportDocument, ids: string[], options: ConsoleOptions): string {
  return renderConsole({ ...document, sections: document.sections.filter(({ id }) => ids.includes(id)) }, options);
}

/**
 * Renders the answer without sections.
 * @returns text in the format of `renderRunConsole`
 */
export function renderAnswer(document: Pick<ReportDocument, 'answer'>, options: ConsoleOptions): string {
  return answer(document.answer, options).join('\n');
}

function answer(document: ReportAnswer, options: ConsoleOptions): string[] {
  const { tone, title, lines, causes, lead, findings, measurement } = document;
  const { width } = options;
  const styles: Style = tone === 'plain' ? 'bold' : (['bold', COLORS[tone]] as Style);
  const wrapped = (line: string) => wrapText(INDENT + line, width, `${INDENT}${INDENT}`);
  const [cause, others] = lead === 'lines' ? [undefined, causes] : [causes[0], causes.slice(1)];
  const headline = cause
    ? lead === 'because'
      ? `${title}: ${cause.message}`
      : `${title}. ${asSentence(cause.message)}`
    : [title, measurement && lines.join('; ')].filter(Boolean).join(': ');
  return [
    ...wrapText(headline, width, INDENT).map((line) => paint(options, styles, line)),
    ...(cause ? causeLines(cause, wrapped) : []),
    ...(cause || !measurement ? lines : []).flatMap(wrapped),
    ...others.flatMap((other) => [...wrapped(`${other.code}: ${other.message}`), ...causeLines(other, wrapped)]),
    ...findings.flatMap((one) => lineText(one) ?? []).flatMap(wrapped),
    ...(measurement
      ? [`Measurement: ${paint(options, STATUS_COLORS[measurement.status], measurement.status)}, ${measurement.text}`]
      : []),
  ];
}

/** Prints a finding's suggested fix, and the findings that it explains. */
function causeLines({ code, fix, explains }: AnswerCause, wrapped: (line: string) => string[]): string[] {
  const consequences = explains.length === 0 ? [] : wrapped(`${INDENT}explains: ${explains.join('; ')}`);
  return [...consequences, ...wrapped(`${INDENT}fix: ${fix} (${code})`)];
}

function sections(document: ReportDocument, options: ConsoleOptions, maxRows: number): string[] {
  return document.sections
    .filter(({ appendix }) => !appendix)
    .flatMap((section) => {
      const body = section.blocks.flatMap((block) => blockLines(block, section, options, maxRows));
      return body.length === 0 ? [] : ['', paint(options, 'bold', section.title), ...body];
    });
}

/** Renders a block. Charts are left out, because tables contain their values. */
function blockLines(block: ReportBlock, section: ReportSection, { width }: ConsoleOptions, maxRows: number): string[] {
  if (block.kind === 'chart') return [];
  if (block.kind === 'lines') {
    const bullet = block.style === 'list' ? '- ' : '';
    return block.lines.flatMap((line) => wrapText(INDENT + bullet + line, width, INDENT + ' '.repeat(bullet.length)));
  }
  const cells = tableTextCells(block);
  if (cells.length === 0) return [];
  const shown = cells.slice(0, maxRows);
  const rest = cells.length - shown.length;
  const title = block.title === section.title ? [] : wrapText(INDENT + block.title, width, INDENT);
  const lines =
    block.head.length === 0
      ? factLines(cells, INDENT, width)
      : fittingTableLines(block.head, shown, INDENT, width, columnAlignments(cells));
  return [...title, ...lines, ...(rest > 0 && block.head.length > 0 ? [`${INDENT}… and ${rest} more rows`] : [])];
}

function paint({ color }: ConsoleOptions, style: Style, text: string): string {
  return color ? styleText(style, text, { validateStream: false }) : text;
}
