/**
 * Content of a report, independent of its format: an answer, then sections of tables, charts and sentences. It is the
 * same for runs, comparisons, searches and studies. report/render shows it as HTML, Markdown, or text for a terminal.
 *
 * Text is plain. Text between backticks is code. Renderers escape it.
 */
import type { AnswerLine } from '../../protocol/result/answer-schema.ts';
import type { Chart } from '../charts/chart.ts';
import { type Amount, amount, amountParts } from './amount.ts';
import type { Term } from './terms.ts';

export interface ReportDocument {
  title: string;
  subtitle: string;
  /** Description of the machines of a run. */
  machine?: string;
  answer: ReportAnswer;
  sections: ReportSection[];
}

/** Kind of an answer, which determines its colour: `doubt` is yellow, `plain` has no colour. */
export type AnswerTone = 'good' | 'doubt' | 'bad' | 'plain';

/** Answer of the report. It is at the top of a page and at the end of terminal output. */
export interface ReportAnswer {
  tone: AnswerTone;
  /** Title of the answer: a word or a sentence. */
  title: string;
  /** Texts about missed thresholds, or other remarks. */
  lines: string[];
  /** Findings that explain why a run failed or why its figures are doubtful, the most important first. */
  causes: AnswerCause[];
  /**
   * Text that follows the title. `because`: the first cause as the reason for the title. `beside`: the first cause as a
   * separate sentence. `lines`: the texts in `lines`.
   */
  lead: 'because' | 'beside' | 'lines';
  /** Lines of the answer with the measured figures; empty if the figures cannot be trusted. */
  findings: AnswerLine[];
  /** Verdict on the measurement (VALID, SUSPECT or INVALID), with a text. */
  measurement?: { status: 'VALID' | 'SUSPECT' | 'INVALID'; text: string };
}

/** A finding that no other finding explains, with its consequences. */
export interface AnswerCause {
  code: string;
  message: string;
  fix: string;
  /** Messages of the findings that this finding explains. */
  explains: string[];
}

/**
 * Returns the sentence of a line of the answer, followed by the reasons to distrust its figure; null if the line has no
 * sentence.
 */
export function lineText({ text, doubts = [] }: Pick<AnswerLine, 'text' | 'doubts'>): string | null {
  return text === null || doubts.length === 0 ? text : `${text}; in doubt: ${doubts.join(', ')}`;
}

interface Headline {
  name: string;
  value: string | Amount;
  text: string;
  /** Additional text. */
  note: string;
}

/** Separates the lines of the answer into at most four headline figures, and sentences without a figure. */
export function splitFindings({ findings }: ReportAnswer): { headlines: Headline[]; sentences: string[] } {
  const headlines = findings.flatMap(({ figure, doubts = [] }): Headline[] => {
    if (!figure) return [];
    const { name, value } = figure;
    const [text, reason] = typeof value === 'string' ? [value, ''] : amountParts(value);
    const doubt = doubts.length > 0 && `in doubt: ${doubts.join(', ')}`;
    return [{ name, value, text, note: [figure.note, doubt, reason].filter(Boolean).join('; ') }];
  });
  const sentences = findings.flatMap((one) => (one.figure ? [] : (lineText(one) ?? [])));
  return { headlines: headlines.slice(0, 4), sentences };
}

export interface ReportSection {
  id: string;
  title: string;
  /** Sentence below the title of the section. */
  lead?: string;
  /** Terms that the section uses and that the appendix defines. */
  terms?: Term[];
  blocks: ReportBlock[];
  /** Whether a page shows only the title of the section until the reader opens it. A terminal omits the section. */
  folded?: true;
  /** Whether the section is too long for a terminal. Only HTML and Markdown show it. */
  appendix?: true;
}

export type ReportBlock = Table | ChartBlock | LinesBlock;
/** Table cell with the answer of a comparison, marked with a sign and a colour. */
interface Marked {
  mark: 'better' | 'worse';
  text: string;
}
export type TableCell = string | Amount | Marked;

export interface Table {
  kind: 'table';
  title: string;
  /** Titles of the columns; may be empty. */
  head: string[];
  /** Cells of the rows. The first cell is the name of the row. */
  rows: TableCell[][];
  /** Whether the titles of the columns contain the units, and not the cells. */
  bare: boolean;
  /** Whether a page shows only the title of the block until the reader opens it. */
  folded: boolean;
}

export interface ChartBlock {
  kind: 'chart';
  /** Chart of the block; if null, the text `absent` is shown instead. */
  chart: Chart | null;
  absent: string;
  folded: boolean;
}

export interface LinesBlock {
  kind: 'lines';
  /** Style of the lines. `absent`: a text in place of a figure that was not measured. */
  style: 'text' | 'note' | 'list' | 'absent';
  lines: string[];
}

/** Row of a table of facts: name, value, and an optional remark. */
export type TableFact = [name: string, value: TableCell, note?: string];

/** Returns a row of a table of facts, whose value is a count. */
export function countFact(name: string, value: number | null | undefined, note?: string): TableFact {
  return [name, amount('count', value), ...((note ? [note] : []) as [string?])];
}

/** Returns a table of facts. Entries that are `false` are left out. The renderers leave out an empty table. */
export function factsTable(title: string, all: (TableFact | false | null)[], folded = false): Table {
  const known = all.filter((fact) => fact !== false && fact !== null);
  const hasNotes = known.some(([, , note]) => note);
  const rows = known.map(([name, value, note = '']) => (hasNotes ? [name, value, note] : [name, value]));
  return { kind: 'table', title, head: [], rows, bare: false, folded };
}

/** Returns a table of figures with units in the titles of the columns. The renderers leave out an empty table. */
export function figuresTable(title: string, head: string[], rows: TableCell[][], folded = false): Table {
  return { kind: 'table', title, head, rows, bare: true, folded };
}

export function chartBlock(chart: Chart | null, absent: string, folded = false): ChartBlock {
  return { kind: 'chart', chart, absent, folded };
}

export function linesBlock(style: LinesBlock['style'], all: (string | null | false | undefined)[]): LinesBlock {
  return { kind: 'lines', style, lines: all.filter((line) => typeof line === 'string') };
}

/** Returns a section that only states why nothing was measured. */
export function absentSection(id: string, title: string, reason: string): ReportSection {
  return { id, title, blocks: [linesBlock('absent', [`Not measured: ${reason}.`])] };
}
