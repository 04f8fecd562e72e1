/** A study as one HTML file: a section for each name that varies, with a chart for each figure. */
import type { Study } from '../../protocol/documents/study.ts';
import { levelsChart, levelsLegend } from '../charts/levels.ts';
import type { ComparedFigure } from '../compare/compare.ts';
import { figureCells } from '../compare/text.ts';
import { labelOf, type MeasuredRun, type Question, questionsOf } from '../study/summarize.ts';
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
} from '../study/text.ts';
import { answerMark } from './comparison.ts';
import { type Html, html } from './html.ts';
import { page } from './page.ts';
import { dataTable, legend, multiples, section } from './section.ts';

/**
 * @param runs in the order of `study.runs`
 * @returns a self-contained HTML document
 */
export function renderStudy(study: Study, runs: MeasuredRun[]): string {
  const questions = questionsOf(study.plan, runs);
  return page({
    title: titleOfStudy(study),
    subtitle: `${study.plan.scenario} · ${progressText(study)}`,
    body: html`${listed('missing', 'Missing', holesOf(study))}
${listed('doubts', 'Doubts', doubtsOf(runs, questions))}
${questions.map(sectionOf)}
${runsTable(study)}`,
  });
}

function sectionOf(question: Question, position: number): Html {
  const names = question.contexts.map(({ others }) => labelOf(others));
  return section({
    id: `question-${position + 1}`,
    title: titleOfQuestion(question),
    lead: answersOf(question).map((line) => html`${line}<br>`),
    body: html`${names.length > 1 && legend({ legend: levelsLegend(names) })}
${multiples(chartsOf(question))}
<p class="lead">Circles are means of the runs, with Student’s 95 % interval of the mean where there are several. ${notesOf(question).join(' ')}</p>
${question.contexts.flatMap((context) =>
  context.levels.slice(1).map((_, index) => {
    const title = pairOf(context, index + 1);
    const rows = context.comparison.figures.map((figure) => {
      return [...figureCells(figure, index + 1), answerMark(figure, index + 1)];
    });
    return html`<details><summary>Table: ${title}</summary>${dataTable(title, HEAD, rows)}</details>`;
  }),
)}`,
  });
}

/** Those with an answer come first. */
function chartsOf({ levels, contexts }: Question): Parameters<typeof multiples>[0] {
  const figures = new Map<string, ComparedFigure>();
  for (const { comparison } of contexts) for (const figure of comparison.figures) figures.set(figure.path, figure);
  const charts = [...figures.values()].map((figure) => {
    const compared = contexts.map(({ others, levels: own, comparison }) => ({
      name: labelOf(others),
      own,
      figure: comparison.figures.find(({ path }) => path === figure.path),
    }));
    const found = compared.flatMap(({ name, own, figure: one }) =>
      (one?.differences ?? []).map((difference, index) => ({
        difference,
        text: html`${[own[index + 1], name].filter(Boolean).join(', ')}: ${one && html`${figureCells(one, index + 1)[3]}, ${answerMark(one, index + 1)}`}<br>`,
      })),
    );
    const beyond = found.filter(({ difference: { answer } }) => answer === 'better' || answer === 'worse');
    const none = found.some(({ difference: { answer } }) => answer === 'no-difference')
      ? 'no difference seen'
      : 'cannot tell';
    const series = compared.map(({ name, own, figure: one }) => ({
      name,
      spreads: levels.map((level) => one?.spreads[own.indexOf(level)] ?? null),
    }));
    return {
      chart: levelsChart(figure, levels.map(String), series),
      caption: figure.title,
      note: beyond.length > 0 ? beyond.map(({ text }) => text) : none,
      answered: beyond.length > 0,
    };
  });
  return charts.sort((a, b) => Number(b.answered) - Number(a.answered));
}

function runsTable({ runs }: Study): Html {
  const rows = runs.map(({ number, block, levels, status, seconds, problem, result }) => [
    number,
    block,
    labelOf(levels),
    status ?? '–',
    Math.round(seconds),
    problem ?? '',
    result ?? '',
  ]);
  const head = ['Run', 'Block', 'Levels', 'Verdict', 'Seconds', 'Problem', 'Result'];
  return section({
    id: 'runs',
    title: 'Runs',
    lead: 'In the order in which they were made. Each block has every combination once.',
    body: dataTable('Runs', head, rows),
  });
}

function listed(id: string, title: string, lines: string[]): Html | null {
  if (lines.length === 0) return null;
  return section({ id, title, body: html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>` });
}
