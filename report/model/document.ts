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

/** Colour of an answer: `doubt` is yellow, `plain` has no colour. */
export type AnswerTone = 'good' | 'doubt' | 'bad' | 'plain';

/** Answer of the report. It is at the top of a page and at the end of terminal output. */
export interface ReportAnswer {
  tone: AnswerTone;
  /** Title of the answer: a word or a sentence. */
  title: string;
  /** Missed thresholds, or other remarks. */
  lines: string[];
  /** Causes of failures and doubts, the most important first. */
  causes: AnswerCause[];
  /**
   * Text after the title. `because`: the first cause as the reason for the title. `beside`: the first cause as a
   * separate sentence. `lines`: the lines above.
   */
  lead: 'because' | 'beside' | 'lines';
  /** Lines with the measured figures; empty if they cannot be trusted. */
  findings: AnswerLine[];
  /** Verdict on the measurement. */
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

/** Returns the sentence with its doubts; null if it is empty. */
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

/** Separates the findings into at most four headline figures, and sentences without a figure. */
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
  /** Terms in the section that the appendix defines. */
  terms?: Term[];
  blocks: ReportBlock[];
  /** Whether the section is collapsed to its title. A terminal omits it. */
  folded?: true;
  /** Whether the section is too long for a terminal. Only pages show it. */
  appendix?: true;
}

export type ReportBlock = Table | ChartBlock | LinesBlock;
/** Cell with a comparison's answer, marked with a sign and a colour. */
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
  /** Whether the units are in the head instead of the cells. */
  bare: boolean;
  /** Whether the block is collapsed to its title. */
  folded: boolean;
}

export interface ChartBlock {
  kind: 'chart';
  /** Chart of the block. If it is null, the text `absent` is shown. */
  chart: Chart | null;
  absent: string;
  folded: boolean;
}

export interface LinesBlock {
  kind: 'lines';
  /** Style of the lines. `absent`: a text that replaces a figure that was not measured. */
  style: 'text' | 'note' | 'list' | 'absent';
  lines: string[];
}

/** Name, value, and an optional remark. */
export type TableFact = [name: string, value: TableCell, note?: string];

/** Returns a fact whose value is a count. */
export function countFact(name: string, value: number | null | undefined, note?: string): TableFact {
  return [name, amount('count', value), ...((note ? [note] : []) as [string?])];
}

/** Returns a table of facts. False entries are omitted. The renderers omit an empty table. */
export function factsTable(title: string, all: (TableFact | false | null)[], folded = false): Table {
  const known = all.filter((fact) => fact !== false && fact !== null);
  const hasNotes = known.some(([, , note]) => note);
  const rows = known.map(([name, value, note = '']) => (hasNotes ? [name, value, note] : [name, value]));
  return { kind: 'table', title, head: [], rows, bare: false, folded };
}

/** Returns a table of figures with units in the head. The renderers omit an empty table. */
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
