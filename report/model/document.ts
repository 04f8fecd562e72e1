/**
 * What a report says, whatever it is shown as: an answer, then sections of tables, charts and sentences. Of a run, a
 * comparison, a search or a study; report/render shows it as HTML, Markdown, or text for a terminal.
 *
 * Text is plain; what stands between backticks is code. Renderers escape it.
 */
import type { AnswerLine } from '../../protocol/result/answer-schema.ts';
import type { Chart } from '../charts/chart.ts';
import { type Amount, amount, figureAndReason } from './amount.ts';
import type { Term } from './terms.ts';

export interface Document {
  title: string;
  subtitle: string;
  /** The machines that it was measured with, of a single run. */
  machine?: string;
  answer: Answer;
  sections: Section[];
}

/** Colours it: `doubt` is yellow, `plain` has none. */
export type Tone = 'good' | 'doubt' | 'bad' | 'plain';

/** Comes first on a page, and last on a terminal. */
export interface Answer {
  tone: Tone;
  /** A word, or a sentence. */
  title: string;
  /** Thresholds that were missed, or what else there is to say. */
  lines: string[];
  /** Causes of what went wrong, the one that decides first. */
  causes: Cause[];
  /**
   * Text after the title: the first cause as its reason (`because`), the first cause as a separate sentence if it is not the title's reason
   * (`beside`), or the lines.
   */
  lead: 'because' | 'beside' | 'lines';
  /** The figures in words; empty where they cannot be trusted. */
  findings: AnswerLine[];
  /** Whether the measurement can be trusted. */
  measurement?: { status: 'VALID' | 'SUSPECT' | 'INVALID'; text: string };
}

/** A finding that no other one explains, and its consequences. */
export interface Cause {
  code: string;
  message: string;
  fix: string;
  /** Messages of the findings that it explains. */
  explains: string[];
}

/** @returns its sentence, with the doubts about it; null without one */
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

/** @returns the figures that people quote, four at most, and the sentences of findings without one */
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
  /** Defined in the appendix. */
  terms?: Term[];
  blocks: Block[];
  /** Collapsed to its title; not for a terminal. */
  folded?: true;
  /** Only for pages: too long for a terminal. */
  appendix?: true;
}

export type Block = Table | Drawing | Lines;
/** An answer with a sign and a colour. */
export interface Marked {
  mark: 'better' | 'worse';
  text: string;
}
export type Cell = string | Amount | Marked;

export interface Table {
  kind: 'table';
  title: string;
  /** Empty of a table whose rows explain themselves. */
  head: string[];
  /** The first cell names the row. */
  rows: Cell[][];
  /** The head has the units. */
  bare: boolean;
  /** Collapsed to its title. */
  folded: boolean;
}

export interface Drawing {
  kind: 'chart';
  /** Null to show `absent` in its place. */
  chart: Chart | null;
  absent: string;
  folded: boolean;
}

export interface Lines {
  kind: 'lines';
  /** `absent`: replaces an unmeasured figure. */
  style: 'text' | 'note' | 'list' | 'absent';
  lines: string[];
}

/** A name with its value, and what there is to say of it. */
export type Fact = [name: string, value: Cell, note?: string];

/** @returns how many there were */
export function count(name: string, value: number | null | undefined, note?: string): Fact {
  return [name, amount('count', value), ...((note ? [note] : []) as [string?])];
}

/** A table of facts; false for a fact that a run does not have. An empty table is not shown. */
export function facts(title: string, all: (Fact | false | null)[], folded = false): Table {
  const known = all.filter((fact) => fact !== false && fact !== null);
  const hasNotes = known.some(([, , note]) => note);
  const rows = known.map(([name, value, note = '']) => (hasNotes ? [name, value, note] : [name, value]));
  return { kind: 'table', title, head: [], rows, bare: false, folded };
}

/** A table of figures; the head has their units. Nothing is shown of an empty one. */
export function grid(title: string, head: string[], rows: Cell[][], folded = false): Table {
  return { kind: 'table', title, head, rows, bare: true, folded };
}

export function drawing(chart: Chart | null, absent: string, folded = false): Drawing {
  return { kind: 'chart', chart, absent, folded };
}

export function lines(style: Lines['style'], all: (string | null | false | undefined)[]): Lines {
  return { kind: 'lines', style, lines: all.filter((line) => typeof line === 'string') };
}

/** A section without any known figure. */
export function absentSection(id: string, title: string, reason: string): Section {
  return { id, title, blocks: [lines('absent', [`Not measured: ${reason}.`])] };
}
