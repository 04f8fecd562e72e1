/** The text of a comparison, shared by the terminal and the page. */
import type { Spread } from '../../protocol/documents/repeat.ts';
import { type Figure, formatFigure, isCounted } from '../figures/figures.ts';
import { counted, decimals } from '../text/format.ts';
import type { Mismatch } from './comparability.ts';
import type { ComparedFigure, ComparedSet, Comparison, Difference } from './compare.ts';

const ANSWERS = {
  better: 'better',
  worse: 'WORSE',
  'no-difference': 'no difference seen',
  'cannot-tell': 'cannot tell',
};
const SINGLE = { fit: ' (fits of single runs)', broadcasts: ' (broadcasts of single runs)' };
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

/** @returns the figure, both means, the difference and its interval: the row of a table, without the answer */
export function figureCells(figure: ComparedFigure, index: number): string[] {
  const [a, b] = [figure.spreads[0] ?? null, figure.spreads[index] ?? null];
  const difference = figure.differences[index - 1] as Difference;
  return [
    titleOf(figure),
    meanOf(figure, a),
    meanOf(figure, b),
    differenceText(figure, difference),
    intervalText(figure, difference, a),
  ];
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
export function describeAnswer(figure: ComparedFigure, index: number): { label: string; note: string } {
  const { answer, noise, value, detectable } = figure.differences[index - 1] as Difference;
  const reference = figure.spreads[0]?.mean ?? 0;
  const why = noise === 'fit' || noise === 'broadcasts' ? SINGLE[noise] : '';
  if (answer === 'cannot-tell')
    return { label: ANSWERS[answer], note: value === null ? ': not measured' : ': only single runs' };
  if (answer !== 'no-difference' || detectable === null || reference === 0)
    return { label: ANSWERS[answer], note: why };
  return {
    label: ANSWERS[answer],
    note: `; ${seenChange(detectable / Math.abs(reference))} would be${why}`,
  };
}

/** @param share of the reference */
function seenChange(share: number): string {
  return share < 1 ? `± ${decimals(100 * share, 0)} %` : `only ${decimals(1 + share, 0)} times as much`;
}

/** Of a set after the first, in one line. */
export interface Headline {
  answer: Difference['answer'];
  text: string;
}

/**
 * A figure that is worse outweighs all that are better; one that nobody can compare outweighs those without a difference.
 * @returns `worse in Connections failed, Coverage; better in One way p99`
 */
export function headlineOf({ sets, figures, mismatches }: Comparison, index: number): Headline {
  const empty = [sets[0], sets[index]].find((set) => set?.usable === 0);
  if (empty) {
    const why = empty.statuses.length === 0 ? 'no runs of one side yet' : 'INVALID runs have no figures to compare';
    return { answer: 'cannot-tell', text: `cannot tell: ${why}` };
  }
  const titles = (answer: Difference['answer']) =>
    figures.flatMap(({ title, differences }) => (differences[index - 1]?.answer === answer ? [title] : []));
  const [worse, better] = [titles('worse'), titles('better')];
  const changes = [
    ...(worse.length > 0 ? [`worse in ${worse.join(', ')}`] : []),
    ...(better.length > 0 ? [`better in ${better.join(', ')}`] : []),
  ];
  const unknown = figures.filter(({ differences }) => isOpen(differences[index - 1])).length;
  const open = unknown > 0 ? [`cannot tell about ${counted(unknown, 'figure')}: only single runs`] : [];
  const none = titles('no-difference').length > 0 && changes.length === 0 ? ['no difference seen'] : [];
  const text = [...changes, ...open, ...none.map((words) => (unknown > 0 ? `${words} in the others` : words))].join(
    '; ',
  );
  const scenarios = mismatches.find(({ aspect, name }) => aspect === 'load' && name === 'scenario')?.values;
  const other = scenarios ? `different scenarios, ${scenarios[0]} and ${scenarios[index]}: ` : '';
  return {
    answer: answerOf(worse, better, unknown),
    text: other + (text || 'cannot tell: nothing was measured on both sides'),
  };
}

function answerOf(worse: string[], better: string[], unknown: number): Headline['answer'] {
  if (worse.length > 0) return 'worse';
  if (unknown > 0) return 'cannot-tell';
  return better.length > 0 ? 'better' : 'no-difference';
}

/** Measured on both sides, and nobody knows how much it varies. */
function isOpen(difference: Difference | undefined): boolean {
  return difference?.answer === 'cannot-tell' && difference.value !== null;
}

/** How to read the table. */
export function notes(figures: ComparedFigure[]): string[] {
  const differences = figures.flatMap((figure) => figure.differences);
  const single = differences.some(isOpen);
  return [
    'All intervals hold together with 95 % confidence. No difference is seen if the interval contains zero, or if the difference is smaller than the accuracy of the measurement; “± 25 % would be” means that four of five such comparisons would see a change by that much. Missing connections and copies are counted: a single run is enough.',
    ...(single
      ? ['A single run does not show how much runs vary; npx socketio-capacity repeat <scenario> measures that.']
      : []),
  ];
}
