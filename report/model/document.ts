/**
 * Content of a report, independent of its format: an answer, then sections of tables, charts and sentences. It describes a run, a
 * comparison, a search or a study. report/render shows it as HTML, Markdown, or text for a terminal.
 *
 * Text is plain; text between backticks is code. Renderers escape it.
 */
import type { AnswerLine } from '../../protocol/result/answer-schema.ts';
import type { Chart } from '../charts/chart.ts';
import { type Amount, amount, figureAndReason } from './amount.ts';
import type { Term } from './terms.ts';

export interface Document {
  title: string;
  subtitle: string;
  /** Machines of a single run. */
  machine?: string;
  answer: Answer;
  sections: Section[];
}

/** Its colour: `doubt` is yellow, `plain` has none. */
export type Tone = 'good' | 'doubt' | 'bad' | 'plain';

/** First on a page, and last on a terminal. */
export interface Answer {
  tone: Tone;
  /** A word, or a sentence. */
  title: string;
  /** Missed thresholds, or other remarks. */
  lines: string[];
  /** Causes of failures and doubts; the deciding one first. */
  causes: Cause[];
  /** Text after the title. `because`: the first cause as the title's reason. `beside`: the first cause as a sentence. Else: the lines. */
  lead: 'because' | 'beside' | 'lines';
  /** Figures in words; empty if they cannot be trusted. */
  findings: AnswerLine[];
  /** Whether the measurement can be trusted. */
  measurement?: { status: 'VALID' | 'SUSPECT' | 'INVALID'; text: string };
}

/** A finding that no other finding explains, with its consequences. */
export interface Cause {
  code: string;
  message: string;
  fix: string;
  /** Messages of its consequences. */
  explains: string[];
}

/** Returns the sentence with its doubts; null without one. */
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

/** Returns at most four figures that people quote, and the sentences of findings without one. */
export function splitFindings({ findings }: Answer): { headlines: Headline[]; sentences: string[] } {
  const headlines = findings.flatMap(({ figure, doubts = [] }): Headline[] => {
    if (!figure) return [];
    const { name, value } = figure;
    const [text, reason] = typeof value === 'string' ? [value, ''] : figureAndReason(value);
    const doubt = doubts.length > 0 && `in doubt: ${doubts.join(', ')}`;
    return [{ name, value, text, note: [figure.note, doubt, reason].filter(Boolean).join('; ') }];
  });
  const sentences = findings.flatMap((one) => (one.figure ? [] : (lineText(one) ?? [])));
  return { headlines: headlines.slice(0, 4), sentences };
}

export interface Section {
  id: string;
  title: string;
  /** A sentence below the title. */
  lead?: string;
  /** Terms that the appendix defines. */
  terms?: Term[];
  blocks: Block[];
  /** Collapsed to its title; omitted on a terminal. */
  folded?: true;
  /** Only for pages: too long for a terminal. */
  appendix?: true;
}

export type Block = Table | Drawing | Lines;
/** An answer with a sign and a colour. */
interface Marked {
  mark: 'better' | 'worse';
  text: string;
}
export type Cell = string | Amount | Marked;

export interface Table {
  kind: 'table';
  title: string;
  /** Empty if the rows need no head. */
  head: string[];
  /** The first cell names the row. */
  rows: Cell[][];
  /** The head contains the units. */
  bare: boolean;
  /** Collapsed to its title. */
  folded: boolean;
}

export interface Drawing {
  kind: 'chart';
  /** Null shows `absent` instead. */
  chart: Chart | null;
  absent: string;
  folded: boolean;
}

export interface Lines {
  kind: 'lines';
  /** Text that replaces an unmeasured figure. */
  style: 'text' | 'note' | 'list' | 'absent';
  lines: string[];
}

/** A name with its value and a remark. */
export type Fact = [name: string, value: Cell, note?: string];

/** Returns the number of facts. */
export function count(name: string, value: number | null | undefined, note?: string): Fact {
  return [name, amount('count', value), ...((note ? [note] : []) as [string?])];
}

/** A table of facts. Omits facts that are false, and an empty table. */
export function facts(title: string, all: (Fact | false | null)[], folded = false): Table {
  const known = all.filter((fact) => fact !== false && fact !== null);
  const hasNotes = known.some(([, , note]) => note);
  const rows = known.map(([name, value, note = '']) => (hasNotes ? [name, value, note] : [name, value]));
  return { kind: 'table', title, head: [], rows, bare: false, folded };
}

/** A table of figures, with units in the head. Omits an empty table. */
export function grid(title: string, head: string[], rows: Cell[][], folded = false): Table {
  return { kind: 'table', title, head, rows, bare: true, folded };
}

export function drawing(chart: Chart | null, absent: string, folded = false): Drawing {
  return { kind: 'chart', chart, absent, folded };
}

export function lines(style: Lines['style'], all: (string | null | false | undefined)[]): Lines {
  return { kind: 'lines', style, lines: all.filter((line) => typeof line === 'string') };
}

/** Whether no figure of a section is known. */
export function absentSection(id: string, title: string, reason: string): Section {
  return { id, title, blocks: [lines('absent', [`Not measured: ${reason}.`])] };
}
