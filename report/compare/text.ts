/** The text of a comparison, shared by the terminal and the page. */
import type { Spread } from '../../protocol/repeat.ts';
import { type Figure, formatFigure, isCounted } from '../figures.ts';
import { counted, decimals } from '../format.ts';
import type { Mismatch } from './comparability.ts';
import type { ComparedFigure, ComparedSet, Comparison, Difference } from './compare.ts';

const ANSWERS = {
  better: 'better',
  worse: 'WORSE',
  'no-difference': 'no difference seen',
  'cannot-tell': 'cannot tell',
};
export const ASPECTS: Record<Mismatch['aspect'], string> = {
  load: 'DIFFERENT LOAD',
  machine: 'DIFFERENT MACHINE',
  system: 'Different system',
  deployment: 'Different deployment',
};

export function letter(index: number): string {
  return String.fromCharCode(65 + index);
}

export function describeSet({ name, statuses, usable }: ComparedSet): string {
  const byStatus = Map.groupBy(statuses, (status) => status);
  const counts = [...byStatus].map(([status, runs]) => (runs.length === 1 ? status : `${runs.length} ${status}`));
  const without = usable < statuses.length ? '; INVALID runs contribute no figures' : '';
  return `${name} (${counted(statuses.length, 'run')}: ${counts.join(', ')}${without})`;
}

/** With its unit. */
export function titleOf({ title, unit }: Figure): string {
  return unit ? `${title}, ${unit}` : title;
}

export function meanOf(figure: Figure, spread: Spread | null): string {
  return spread ? formatFigure(figure, spread.mean) : '–';
}

/** Relative, except for counts and where the reference is zero. */
export function differenceText(figure: Figure, { value, share }: Difference): string {
  if (value === null) return '–';
  if (isCounted(figure) || share === null) return `${value > 0 ? '+' : ''}${plain(figure, value)}`;
  return `${percent(share)} %`;
}

export function intervalText(figure: Figure, { low, high, share }: Difference, a: Spread | null): string {
  if (low === null || high === null || low === high) return '–';
  if (isCounted(figure) || share === null || !a) return `${plain(figure, low)} to ${plain(figure, high)}`;
  return `${percent(low / Math.abs(a.mean))} to ${percent(high / Math.abs(a.mean))} %`;
}

/** A difference between shares is in percentage points, not in percent. */
function plain(figure: Figure, value: number): string {
  return figure.kind === 'share' ? `${decimals(100 * value, 2)} points` : formatFigure(figure, value);
}

function percent(share: number): string {
  const digits = Math.abs(share) < 0.0995 ? 1 : 0;
  return `${share > 0 ? '+' : ''}${decimals(100 * share, digits)}`;
}

/** @returns the answer, and a note to append to it, which is often empty */
export function describeAnswer({ answer, noise, value }: Difference): { label: string; note: string } {
  const why = noise === 'fit' ? ' (fits of single runs)' : '';
  const cannot = answer !== 'cannot-tell' ? '' : value === null ? ': not measured' : ': only single runs';
  return { label: ANSWERS[answer], note: why + cannot };
}

/** @returns of a set after the first: `2 figures worse, 1 figure better` */
export function sumOfAnswers({ figures }: Comparison, index: number): string {
  const count = (answer: Difference['answer']) =>
    figures.filter(({ differences }) => differences[index - 1]?.answer === answer).length;
  const [worse, better] = [count('worse'), count('better')];
  const parts = [
    ...(worse > 0 ? [`${counted(worse, 'figure')} worse`] : []),
    ...(better > 0 ? [`${counted(better, 'figure')} better`] : []),
  ];
  const none = count('no-difference') > 0 ? 'no difference seen' : 'cannot tell';
  return parts.join(', ') || none;
}

/** How to read the table. */
export function notes(figures: ComparedFigure[]): string[] {
  const differences = figures.flatMap((figure) => figure.differences);
  const single = differences.some(({ answer, value }) => answer === 'cannot-tell' && value !== null);
  return [
    'All intervals hold together with 95 % confidence. No difference is seen if the interval contains zero, or if the difference is smaller than the accuracy of the measurement.',
    ...(single
      ? ['A single run does not show how much runs vary; npx socketio-capacity repeat <scenario> measures that.']
      : []),
  ];
}
