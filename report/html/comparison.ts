/** A comparison of sets of runs as one HTML file: what is better, what is worse, and what else differs. */
import type { ComparedFigure, Comparison, Difference } from '../compare/compare.ts';
import { ASPECTS, describeAnswer, describeSet, figureCells, headlineOf, letter, notes } from '../compare/text.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { page } from './page.ts';
import { dataTable, section } from './section.ts';

const MARKS: Partial<Record<Difference['answer'], string>> = { better: '▲', worse: '▼' };

/** @returns a self-contained HTML document */
export function renderComparison(comparison: Comparison): string {
  const { sets, mismatches } = comparison;
  const notComparable = mismatches.some(({ aspect }) => aspect === 'load' || aspect === 'machine');
  const others = [...sets.keys()].slice(1);
  return page({
    title: 'Comparison · socketio-capacity',
    subtitle: sets.map((set, index) => `${letter(index)}: ${set.name}`).join(' · '),
    body: html`<div class="verdict ${toneOf(comparison)}">
<h2>${others.map((index) => html`<span class="answer">${letter(index)}: ${headlineOf(comparison, index).text}</span>`)}</h2>
${sets.map((set, index) => html`<p>${letter(index)}: ${describeSet(set)}</p>`)}
${mismatches.length > 0 && html`<p><a href="#differing">${mismatches.length === 1 ? '1 condition differs' : `${mismatches.length} conditions differ`}</a>${notComparable && ', including the load or the machine'}.</p>`}
</div>
${others.map((index) => comparedTo(comparison, index))}
${differing(comparison)}`,
  });
}

/** The colour of the summary: a single figure that is worse makes it red. */
function toneOf({ figures }: Comparison): 'worse' | 'better' | 'neutral' {
  const answers = figures.flatMap(({ differences }) => differences.map(({ answer }) => answer));
  if (answers.includes('worse')) return 'worse';
  return answers.includes('better') ? 'better' : 'neutral';
}

function differing({ sets, mismatches }: Comparison): Html | null {
  if (mismatches.length === 0) return null;
  const head = ['Condition', 'Kind', ...sets.map((_, index) => letter(index))];
  return section({
    id: 'differing',
    title: 'Different conditions',
    lead: 'If the load or the machine differs, that is the most likely reason for any difference between the figures.',
    body: dataTable(
      'Different conditions',
      head,
      mismatches.map(({ aspect, name, values }) => [name, ASPECTS[aspect], ...values]),
    ),
  });
}

function comparedTo({ figures }: Comparison, index: number): Html {
  const rows = figures.map((figure): HtmlValue[] => [...figureCells(figure, index), answerMark(figure, index)]);
  const title = `${letter(index)} against A`;
  return section({
    id: `set-${letter(index)}`,
    title,
    lead: notes(figures).join(' '),
    body: dataTable(title, ['Figure', 'A', letter(index), 'Difference', 'Interval', 'Answer'], rows),
  });
}

/** With a sign besides the colour, for readers who cannot see it. */
export function answerMark(figure: ComparedFigure, index: number): Html {
  const { label, note } = describeAnswer(figure, index);
  const { answer } = figure.differences[index - 1] as Difference;
  const mark = MARKS[answer];
  return html`<span class="${answer}">${mark && html`<span aria-hidden="true">${mark} </span>`}${label}</span>${note}`;
}
