/** Sets of runs side by side as one file: what is better, what is worse, and what else differs. */
import type { Comparison, Difference } from '../compare.ts';
import {
  ASPECTS,
  answerWords,
  describeSet,
  differenceText,
  intervalText,
  letter,
  meanOf,
  notes,
  titleOf,
} from '../compare-text.ts';
import { counted } from '../format.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { page } from './page.ts';
import { dataTable, section } from './section.ts';

const MARKS: Partial<Record<Difference['answer'], string>> = { better: '▲', worse: '▼' };

/** @returns an HTML document that needs nothing else */
export function renderComparison(comparison: Comparison): string {
  const { sets, mismatches } = comparison;
  const elsewhere = mismatches.some(({ aspect }) => aspect === 'load' || aspect === 'machine');
  const others = [...sets.keys()].slice(1);
  return page({
    title: 'Comparison · socketio-capacity',
    subtitle: sets.map((set, index) => `${letter(index)}: ${set.name}`).join(' · '),
    body: html`<div class="verdict ${toneOf(comparison)}">
<h2>${others.map((index) => html`<span class="answer">${answerOf(comparison, index)}</span>`)}</h2>
${sets.map((set, index) => html`<p>${letter(index)}: ${describeSet(set)}</p>`)}
${mismatches.length > 0 && html`<p><a href="#differing">${mismatches.length === 1 ? '1 other thing differs' : `${mismatches.length} other things differ`}</a>${elsewhere && ', load or machine among them'}.</p>`}
</div>
${others.map((index) => comparedTo(comparison, index))}
${differing(comparison)}`,
  });
}

/** The colour of the whole: one figure that is worse is what one wants to see. */
function toneOf({ figures }: Comparison): 'worse' | 'better' | 'neutral' {
  const answers = figures.flatMap(({ differences }) => differences.map(({ answer }) => answer));
  if (answers.includes('worse')) return 'worse';
  return answers.includes('better') ? 'better' : 'neutral';
}

/** `B: 2 figures worse, 1 better`. */
function answerOf({ figures }: Comparison, index: number): string {
  const count = (answer: Difference['answer']) =>
    figures.filter(({ differences }) => differences[index - 1]?.answer === answer).length;
  const [worse, better] = [count('worse'), count('better')];
  const parts = [
    ...(worse > 0 ? [`${counted(worse, 'figure')} worse`] : []),
    ...(better > 0 ? [`${counted(better, 'figure')} better`] : []),
  ];
  const none = count('no-difference') > 0 ? 'no difference seen' : 'cannot tell';
  return `${letter(index)}: ${parts.join(', ') || none}`;
}

function differing({ sets, mismatches }: Comparison): Html | null {
  if (mismatches.length === 0) return null;
  const head = ['What', 'Differs in', ...sets.map((_, index) => letter(index))];
  return section({
    id: 'differing',
    title: 'What else differs',
    lead: 'Another load or another machine is most likely the reason for every difference of the figures.',
    body: dataTable(
      'What else differs',
      head,
      mismatches.map(({ aspect, name, values }) => [name, ASPECTS[aspect], ...values]),
    ),
  });
}

function comparedTo({ figures }: Comparison, index: number): Html {
  const rows = figures.map((figure): HtmlValue[] => {
    const [a, b] = [figure.spreads[0] ?? null, figure.spreads[index] ?? null];
    const difference = figure.differences[index - 1] as Difference;
    return [
      titleOf(figure),
      meanOf(figure, a),
      meanOf(figure, b),
      differenceText(figure, difference),
      intervalText(figure, difference, a),
      answer(difference),
    ];
  });
  const title = `${letter(index)} against A`;
  return section({
    id: `set-${letter(index)}`,
    title,
    lead: notes(figures).join(' '),
    body: dataTable(title, ['Figure', 'A', letter(index), 'Difference', 'Interval', 'Answer'], rows),
  });
}

/** Words and a sign besides the colour. */
function answer(difference: Difference): Html {
  const { words, remark } = answerWords(difference);
  const mark = MARKS[difference.answer];
  return html`<span class="${difference.answer}">${mark && html`<span aria-hidden="true">${mark} </span>`}${words}</span>${remark}`;
}
