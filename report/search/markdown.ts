/** A search as Markdown: the answer, the evidence, the machines and the runs. */
import type { Search } from '../../protocol/documents/search.ts';
import { escapeMarkdown, markdownTable } from '../markdown/table.ts';
import {
  certaintyOf,
  evidenceTitle,
  NO_SIZING,
  questionOf,
  RUNS_HEAD,
  runRow,
  SIZING_HEAD,
  sizingNote,
  sizingRows,
  WALLS_HEAD,
  wallRow,
} from './text.ts';

export function renderSearchMarkdown(search: Search): string {
  const { answer, plan, runs, sizing, limit } = search;
  const title = evidenceTitle(search);
  const escaped = (rows: string[][]) => rows.map((cells) => cells.map(escapeMarkdown));
  const parts = [
    `**${escapeMarkdown(answer.sentence)}**`,
    escapeMarkdown(questionOf(plan)),
    ...(certaintyOf(search).length > 0 ? [bullets(certaintyOf(search))] : []),
    ...(title === null ? [] : [`## ${title}`, bullets(answer.evidence)]),
    ...(limit ? [`To raise ${escapeMarkdown(limit.name)}: \`${limit.raise}\``] : []),
    '## Machines of this kind',
    ...(sizing
      ? [
          markdownTable(SIZING_HEAD, escaped(sizingRows(sizing))),
          escapeMarkdown(sizingNote(sizing, plan.headroom)),
          markdownTable(WALLS_HEAD, escaped(sizing.walls.map(wallRow)), 'left'),
        ]
      : [NO_SIZING]),
    '## Runs',
    markdownTable(RUNS_HEAD, escaped(runs.map(runRow)), 'left'),
  ];
  return `${parts.join('\n\n')}\n`;
}

function bullets(lines: string[]): string {
  return lines.map((line) => `- ${escapeMarkdown(line)}`).join('\n');
}
