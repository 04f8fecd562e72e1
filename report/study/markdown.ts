/** A study as Markdown: its answers, the holes, and a table for each comparison. */

import type { Study } from '../../protocol/documents/study.ts';
import { describeAnswer, figureCells } from '../compare/text.ts';
import { escapeMarkdown, markdownTable } from '../markdown/table.ts';
import { type MeasuredRun, type Question, questionsOf } from './summarize.ts';
import {
  answersOf,
  doubtsOf,
  HEAD,
  holesOf,
  notesOf,
  pairOf,
  progressText,
  titleOfQuestion,
  titleOfStudy,
} from './text.ts';

/** @param runs in the order of `study.runs` */
export function renderStudyMarkdown(study: Study, runs: MeasuredRun[]): string {
  const questions = questionsOf(study.plan, runs);
  const parts = [
    `# ${escapeMarkdown(titleOfStudy(study))}`,
    `${escapeMarkdown(study.plan.scenario)}: ${progressText(study)}.`,
    ...listed('Missing', holesOf(study)),
    ...listed('Doubts', doubtsOf(runs, questions)),
    ...questions.flatMap(sectionOf),
  ];
  return `${parts.join('\n\n')}\n`;
}

function sectionOf(question: Question): string[] {
  return [
    `## ${escapeMarkdown(titleOfQuestion(question))}`,
    bullets(answersOf(question)),
    ...question.contexts.flatMap((context) =>
      context.levels.slice(1).flatMap((_, index) => [
        `### ${escapeMarkdown(pairOf(context, index + 1))}`,
        markdownTable(
          HEAD,
          context.comparison.figures.map((figure) => {
            const cells = figureCells(figure, index + 1);
            const { label, note } = describeAnswer(figure, index + 1);
            return [...cells, label + note].map(escapeMarkdown);
          }),
        ),
      ]),
    ),
    notesOf(question).join(' '),
  ];
}

function listed(title: string, lines: string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, bullets(lines)];
}

function bullets(lines: string[]): string {
  return lines.map((line) => `- ${escapeMarkdown(line)}`).join('\n');
}
