/** What a comparison says, figure by figure and as a whole. */
import { isCounted, titleOf } from '../figures/figures.ts';
import { type Amount, amount, numberText } from '../model/amount.ts';
import type { Cell } from '../model/document.ts';
import { counted, decimals } from '../text/format.ts';
import type { Mismatch } from './comparability.ts';
import { type ComparedFigure, type ComparedSet, type Comparison, type Difference, USABLE_RUNS } from './compare.ts';

const ANSWERS = {
  better: '▲ better',
  worse: '▼ WORSE',
  'no-difference': 'no difference',
  'cannot-tell': 'inconclusive',
};

export const ASPECTS: Record<Mismatch['aspect'], string> = {
  load: 'different load',
  machine: 'different machine',
  system: 'different system',
  deployment: 'different deployment',
};

export function letter(index: number): string {
  return String.fromCharCode(65 + index);
}

export function describeSet({ name, statuses, usable, made }: ComparedSet): string {
  const lost = Array.from({ length: made - statuses.length }, () => 'without a result');
  const counts = [...Map.groupBy([...statuses, ...lost], (status) => status)].map(([status, runs]) =>
    runs.length === 1 ? status : `${runs.length} ${status}`,
  );
  const without = usable < statuses.length ? '; INVALID runs contribute no figures' : '';
  return `${name} (${counted(made, 'run')}: ${counts.join(', ')}${without})`;
}

/** The titles of the columns of `comparedRow`. */
export function comparedHead(reference: string, other: string): string[] {
  return ['Figure', reference, other, 'Answer', 'Difference', 'Would show'];
}

/** @returns a figure of the set beside that of the reference */
export function comparedRow(figure: ComparedFigure, index: number): Cell[] {
  const difference = figure.differences[index - 1] as Difference;
  return [
    titleOf(figure),
    meanOf(figure, 0),
    meanOf(figure, index),
    answerText(figure, index),
    differenceText(figure, difference),
    detectableText(figure, difference),
  ];
}

function meanOf({ quantity, spreads }: ComparedFigure, index: number): Amount {
  return amount(quantity, spreads[index]?.mean);
}

/** Relative, except for counts and where the reference is zero; with half of its interval. */
export function differenceText(figure: ComparedFigure, { value, share, low, high }: Difference): string {
  if (value === null) return '–';
  const half = low === null || high === null ? 0 : (high - low) / 2;
  const reference = Math.abs(figure.spreads[0]?.mean ?? 0);
  const isRelative = !isCounted(figure) && share !== null && reference > 0;
  const text = (difference: number) => (isRelative ? percent(difference / reference) : plain(figure, difference));
  const margin = half > 0 ? ` ± ${text(half)}` : '';
  return `${value > 0 ? '+' : ''}${text(value)}${margin}${isRelative ? ' %' : ''}`;
}

/** Where no difference is seen, the smallest change that four of five such comparisons would see. */
function detectableText({ spreads }: ComparedFigure, { answer, detectable }: Difference): string {
  const reference = Math.abs(spreads[0]?.mean ?? 0);
  if (answer !== 'no-difference' || detectable === null || reference === 0) return '';
  const share = detectable / reference;
  return share < 1 ? `± ${decimals(100 * share, 0)} %` : `${decimals(1 + share, 0)} times as much`;
}

export function answerText(figure: ComparedFigure, index: number): string {
  const { answer, value } = figure.differences[index - 1] as Difference;
  return value === null ? 'not measured' : ANSWERS[answer];
}

/** @returns with differences first, and those that nobody can tell last */
export function byAnswer(figures: ComparedFigure[], index: number): ComparedFigure[] {
  const order = Object.keys(ANSWERS).toReversed();
  const rank = (figure: ComparedFigure) => {
    const { answer = 'cannot-tell', value = null } = figure.differences[index - 1] ?? {};
    return value === null
      ? -1
      : ['cannot-tell', 'no-difference'].includes(answer)
        ? order.indexOf(answer)
        : order.length;
  };
  return figures.toSorted((a, b) => rank(b) - rank(a));
}

/** A difference between shares is in percentage points, not in percent. */
function plain({ quantity }: ComparedFigure, value: number): string {
  return quantity === 'share' ? `${decimals(100 * value, 2)} pp` : numberText(quantity, value);
}

function percent(share: number): string {
  return decimals(100 * share, Math.abs(share) < 0.0995 ? 1 : 0);
}

/** Of a set after the first, in one line. */
export interface Headline {
  answer: Difference['answer'];
  text: string;
}

/**
 * A figure that is worse outweighs all that are better; one that nobody can compare outweighs those without a difference.
 * @returns `worse in Connections failed, Delivered; better in …`
 */
export function headlineOf({ sets, figures }: Comparison, index: number): Headline {
  const [a, b] = [sets[0], sets[index]] as [ComparedSet, ComparedSet];
  const titles = (answer: Difference['answer']) =>
    figures.flatMap(({ title, differences }) => (differences[index - 1]?.answer === answer ? [title] : []));
  const [worse, better] = [titles('worse'), titles('better')];
  const empty = [a, b].find(({ usable }) => usable === 0);
  if (empty && worse.length === 0) {
    const why = empty.made === 0 ? 'no runs of one side yet' : 'no usable measurement (INVALID)';
    return { answer: 'cannot-tell', text: `inconclusive: ${why}` };
  }
  const open = figures.filter(({ differences }) => isOpen(differences[index - 1]));
  const unknown = open.filter(({ path }) => path !== USABLE_RUNS);
  const gaps = empty ? [] : gapsOf(figures, index);
  const changes = [
    ...(worse.length > 0 ? [`worse in ${worse.join(', ')}`] : []),
    ...(better.length > 0 ? [`better in ${better.join(', ')}`] : []),
    ...(open.length > unknown.length ? [`${unusable(a)} and ${unusable(b)} runs without figures`] : []),
    ...gaps,
    ...(unknown.length > 0 ? [`inconclusive for ${counted(unknown.length, 'figure')}: too few runs`] : []),
  ];
  const isUnsure = open.length + gaps.length > 0;
  const none = worse.length + better.length === 0 && titles('no-difference').length > 0;
  const same = none ? [isUnsure ? 'no difference seen in the others' : 'no difference seen'] : [];
  return {
    answer: worse.length > 0 ? 'worse' : isUnsure ? 'cannot-tell' : better.length > 0 ? 'better' : 'no-difference',
    text: [...changes, ...same].join('; ') || 'inconclusive: nothing was measured on both sides',
  };
}

function unusable({ usable, made }: ComparedSet): string {
  return `${made - usable} of ${made}`;
}

/** What was counted on one side alone, and the figures that decide: a version that sends nothing is late with nothing. */
function gapsOf(figures: ComparedFigure[], index: number): string[] {
  return [0, index].flatMap((side) => {
    const other = side === 0 ? index : 0;
    const missing = figures.filter(
      (figure) => (figure.primary || isCounted(figure)) && !figure.spreads[side] && figure.spreads[other],
    );
    return missing.length === 0
      ? []
      : [`not measured in ${letter(side)}: ${missing.map(({ title }) => title).join(', ')}`];
  });
}

/** Measured on both sides, and nobody knows how much it varies. */
function isOpen(difference: Difference | undefined): boolean {
  return difference?.answer === 'cannot-tell' && difference.value !== null;
}

const SHOWN_CONDITIONS = 3;

const OTHER_LOAD =
  'The loads differ, so only what is per connection or per message can be compared: times, rates and counts follow the load.';

/** @returns one line for each kind of conditions that differ, the first of them by name: the page has them all */
export function mismatchLines(mismatches: Mismatch[]): string[] {
  const lines = kindLines(mismatches);
  return mismatches.some(({ aspect }) => aspect === 'load') ? [OTHER_LOAD, ...lines] : lines;
}

function kindLines(mismatches: Mismatch[]): string[] {
  return [...Map.groupBy(mismatches, ({ aspect }) => aspect)].map(([aspect, all]) => {
    const named = all.slice(0, SHOWN_CONDITIONS).map(({ name, values }) => `${name} ${values.join(' / ')}`);
    const rest = all.length - named.length;
    return `${ASPECTS[aspect]}: ${named.join('; ')}${rest > 0 ? `; and ${counted(rest, 'other setting')}` : ''}`;
  });
}

/** How to read the table. */
export function notes(figures: ComparedFigure[]): string[] {
  const differences = figures.flatMap((figure) => figure.differences);
  const within = differences.some(({ noise }) => noise === 'fit' || noise === 'broadcasts');
  return [
    '± is half of an interval; all intervals hold together with 95 % confidence. There is no difference if the interval contains zero, or if it is smaller than the accuracy of the measurement. “Would show” is the smallest change that four of five such comparisons detect. Missing connections and copies are counted: a single run is enough.',
    ...(within ? ['Intervals of single runs come from the fit of their lines, and from their broadcasts.'] : []),
    ...(differences.some(isOpen)
      ? ['A single run does not show how much runs vary; `npx socketio-capacity repeat <scenario>` measures that.']
      : []),
  ];
}
