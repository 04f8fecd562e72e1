/** Renders a report as Markdown: for pull requests, summaries of CI jobs, and wikis. */
import {
  type AnswerCause,
  type ReportAnswer,
  type ReportBlock,
  type ReportDocument,
  type ReportSection,
  splitFindings,
} from '../model/document.ts';
import { type ColumnAlignment, columnAlignments, tableTextCells } from '../model/table-text.ts';
import { asSentence } from '../text/format.ts';

/** Returns the whole report without its charts. */
export function renderMarkdown(document: ReportDocument): string {
  return joined([...summary(document), ...document.sections.flatMap(sectionMarkdown)]);
}

/**
 * Returns the report with some of its sections.
 * @param sections ids of the sections to include
 */
export function renderMarkdownSummary(document: ReportDocument, sections: string[]): string {
  const kept = document.sections.filter(({ id }) => sections.includes(id));
  return joined([...summary(document), ...kept.flatMap(sectionMarkdown)]);
}

function joined(blocks: string[]): string {
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
}

function summary({ title, subtitle, machine = '', answer }: ReportDocument): string[] {
  return [`# ${escapeMarkdown(title)}`, ...answerMarkdown(answer), escapeMarkdown(subtitle), escapeMarkdown(machine)];
}

/** Returns the first line below the title, which summarizes the report for readers who stop there. */
function firstLine({ title, lines, causes, findings, measurement, lead }: ReportAnswer): string {
  if (!measurement) return `**${escapeMarkdown(title)}**`;
  const cause = lead === 'lines' ? undefined : causes[0]?.message;
  const more = cause ?? (lines.length > 0 ? lines.join('; ') : (findings[0]?.text ?? ''));
  return `**${escapeMarkdown(asSentence(title))}**${more === '' ? '' : ` ${escapeMarkdown(asSentence(more))}`}`;
}

function answerMarkdown(answer: ReportAnswer): string[] {
  const { lines, measurement, causes } = answer;
  const { headlines, sentences } = splitFindings(answer);
  const figures = headlines.map(({ name, text, note }) => [name, text, note]);
  return [
    firstLine(answer),
    measurement ? '' : markdownBullets(lines.map(asSentence)),
    measurement ? `Measurement: **${measurement.status}**, ${measurement.text}.` : '',
    causes.map(causeMarkdown).join('\n'),
    figures.length === 0 ? '' : markdownTable(['', 'Figure', ''], figures, ['left', 'right', 'left']),
    markdownBullets(sentences.map(asSentence)),
  ];
}

function causeMarkdown({ code, message, fix, explains }: AnswerCause): string {
  const consequences = explains.length === 0 ? '' : ` (explains: ${escapeMarkdown(explains.join('; '))})`;
  return `- **${escapeMarkdown(code)}**: ${escapeMarkdown(message)}${consequences} (fix: ${escapeMarkdown(fix)})`;
}

function sectionMarkdown({ title, lead, blocks }: ReportSection): string[] {
  const body = blocks.flatMap((block) => blockMarkdown(block, title));
  if (body.every((block) => block === '')) return [];
  return [`## ${escapeMarkdown(title)}`, lead === undefined ? '' : escapeMarkdown(lead), ...body];
}

function blockMarkdown(block: ReportBlock, of: string): string[] {
  if (block.kind === 'chart') return [];
  if (block.kind === 'lines') {
    return block.style === 'list' ? [markdownBullets(block.lines)] : block.lines.map(escapeMarkdown);
  }
  const rows = tableTextCells(block);
  const [first = []] = rows;
  const head = block.head.length > 0 ? block.head : first.map(() => '');
  const title = block.title === of ? [] : [`**${escapeMarkdown(block.title)}**`];
  return rows.length === 0 ? [] : [...title, markdownTable(head, rows, columnAlignments(rows))];
}

export function markdownBullets(lines: string[]): string {
  return lines.map((line) => `- ${escapeMarkdown(line)}`).join('\n');
}

function markdownTable(head: string[], rows: string[][], aligns: ColumnAlignment[]): string {
  const line = (cells: string[]) => `| ${cells.map(escapeMarkdown).join(' | ')} |`;
  const rule = head.map((_, column) => (aligns[column] === 'right' ? '--:' : ':--'));
  return [line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Pattern of texts that GitHub and GitLab turn into links or mentions. They do so even in escaped text, but not in
 * code.
 */
const LINKED = /@|:\/\/|www\.|[#!]\d|\bGH-\d/i;

/** Escapes text for Markdown: one line, no HTML, no links, no cell borders, no mentions. */
function escapeMarkdown(text: string): string {
  const parts = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').split(/([ `|]+)/);
  return parts.map((part) => (LINKED.test(part) ? `\`${part}\`` : escapeMarkup(part))).join('');
}

function escapeMarkup(text: string): string {
  return text.replace(/[&<>]/g, (character) => ENTITIES[character] as string).replace(/[\\`*_{}[\]|~#!]/g, '\\$&');
}
