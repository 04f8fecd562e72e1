/** What a comparison says, figure by figure and as a whole. */
import type { Difference } from '../../protocol/documents/study.ts';
import { isCounted, titleOf } from '../figures/figures.ts';
import { type Amount, amount, numberText } from '../model/amount.ts';
import { type Cell, grid, type Table } from '../model/document.ts';
import { counted, decimals } from '../text/format.ts';
import { isRelative, shareText } from '../text/relative.ts';
import type { Mismatch } from './comparability.ts';
import { type ComparedFigure, type ComparedSet, type Comparison, USABLE_RUNS } from './compare.ts';

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

export function describeSet({ name, statuses, usable, made, disturbed }: ComparedSet): string {
  const lost = Array.from({ length: made - statuses.length }, () => 'without a result');
  const counts = [...Map.groupBy([...statuses, ...lost], (status) => status)].map(([status, runs]) =>
    runs.length === 1 ? status : `${runs.length} ${status}`,
  );
  const without = usable < statuses.length ? '; INVALID runs contribute no figures' : '';
  const [example = ''] = disturbed;
  const whose = disturbed.length === usable ? '' : ` of ${disturbed.length}`;
  const partly = disturbed.length === 0 ? '' : `; times, rates and CPU${whose} do not count: ${example}`;
  return `${name} (${counted(made, 'run')}: ${counts.join(', ')}${without}${partly})`;
}

/** @returns figures of the set beside those of the reference: differences first, and what nobody can tell last */
export function comparedTable(
  title: string,
  figures: ComparedFigure[],
  index: number,
  [reference, other]: [string, string],
  folded = false,
): Table {
  const rows = figures
    .toSorted((a, b) => rankOf(b, index) - rankOf(a, index))
    .map((figure): Cell[] => {
      const difference = figure.differences[index - 1] as Difference;
      const [a, b] = [0, index].map((set) => amount(figure.quantity, figure.spreads[set]?.mean)) as [Amount, Amount];
      const answer = difference.value === null ? 'not known' : ANSWERS[difference.answer];
      return [titleOf(figure), a, b, answer, differenceText(figure, difference), detectableText(figure, difference)];
    });
  return grid(title, ['Figure', reference, other, 'Answer', 'Difference', 'Would show'], rows, folded);
}

function rankOf({ differences }: ComparedFigure, index: number): number {
  const { answer = 'cannot-tell', value = null } = differences[index - 1] ?? {};
  if (value === null) return 0;
  return { better: 3, worse: 3, 'no-difference': 2, 'cannot-tell': 1 }[answer];
}

/** Relative, except for counts and where the reference is near zero; with half of its interval. */
function differenceText(figure: ComparedFigure, { value, share, low, high }: Difference): string {
  if (value === null) return '–';
  const half = low === null || high === null ? 0 : (high - low) / 2;
  const reference = Math.abs(figure.spreads[0]?.mean ?? 0);
  const inPercent = !isCounted(figure) && share !== null && isRelative(reference, value, half);
  const text = (difference: number) => (inPercent ? percentText(difference / reference) : plain(figure, difference));
  const margin = half > 0 ? ` ± ${text(half)}` : '';
  return `${value > 0 ? '+' : ''}${text(value)}${margin}${inPercent ? ' %' : ''}`;
}

/** Where no difference is seen, the smallest change that four of five such comparisons would see. */
function detectableText({ spreads }: ComparedFigure, { answer, detectable }: Difference): string {
  const reference = Math.abs(spreads[0]?.mean ?? 0);
  if (answer !== 'no-difference' || detectable === null || reference === 0) return '';
  const share = detectable / reference;
  return share < 1 ? `± ${shareText(share)}` : shareText(share);
}

/** A difference between shares is in percentage points, not in percent. */
function plain({ quantity }: ComparedFigure, value: number): string {
  return quantity === 'share' ? `${decimals(100 * value, 2)} pp` : numberText(quantity, value);
}

export function percentText(share: number): string {
  return decimals(100 * share, Math.abs(share) < 0.0995 ? 1 : 0);
}

/** The answer for a set after the first, in one line. */
export interface Headline {
  answer: Difference['answer'];
  text: string;
  /** Inconclusive figures; in the text, too. */
  unsure: string[];
}

/**
 * A figure that is worse outweighs all that are better; one that nobody can compare outweighs those without a difference.
 * @param nameOf one of the sets
 * @returns `worse in Connections failed, Delivered; better in …`
 */
export function headlineOf(comparison: Comparison, index: number, nameOf = letter): Headline {
  const { sets, figures } = comparison;
  const [a, b] = [sets[0], sets[index]] as [ComparedSet, ComparedSet];
  const titles = (answer: Difference['answer']) =>
    figures.flatMap(({ title, differences }) => (differences[index - 1]?.answer === answer ? [title] : []));
  const [worse, better] = [titles('worse'), titles('better')];
  const empty = [a, b].find(({ usable }) => usable === 0);
  if (empty && worse.length === 0) {
    const why =
      empty.made === 0 ? `no figures of ${nameOf(empty === a ? 0 : index)}` : 'no usable measurement (INVALID)';
    const text = `inconclusive: ${why}`;
    return { answer: 'cannot-tell', text, unsure: [text] };
  }
  const open = figures.filter(({ differences }) => isOpen(differences[index - 1]));
  const unknown = open.filter(({ path }) => path !== USABLE_RUNS);
  const gaps = empty ? [] : gapsOf(comparison, index, nameOf);
  const unsure = [
    ...(open.length > unknown.length ? [`${unusable(a)} and ${unusable(b)} runs without figures`] : []),
    ...gaps,
    ...([a, b].every(({ usable, disturbed }) => usable > 0 && disturbed.length === usable)
      ? ['times, rates and CPU do not count, as others disturbed all runs']
      : []),
    ...(unknown.length > 0 ? [`inconclusive for ${counted(unknown.length, 'figure')}: too few runs`] : []),
  ];
  const isUnsure = unsure.length > 0;
  const changes = [
    ...(worse.length > 0 ? [`worse in ${worse.join(', ')}`] : []),
    ...(better.length > 0 ? [`better in ${better.join(', ')}`] : []),
    ...unsure,
  ];
  const none = worse.length + better.length === 0 && titles('no-difference').length > 0;
  const same = none ? [isUnsure ? 'no difference seen in the others' : 'no difference seen'] : [];
  return {
    answer: worse.length > 0 ? 'worse' : isUnsure ? 'cannot-tell' : better.length > 0 ? 'better' : 'no-difference',
    text: [...changes, ...same].join('; ') || 'inconclusive: nothing was measured on both sides',
    unsure,
  };
}

function unusable({ usable, made }: ComparedSet): string {
  return `${made - usable} of ${made}`;
}

/**
 * What was counted in fewer of one side's runs, and the figures that decide, if in none: a version that sends nothing is late
 * with nothing.
 */
function gapsOf({ sets, figures }: Comparison, index: number, nameOf: typeof letter): string[] {
  return [0, index].flatMap((side) => {
    const usable = (set: number) => sets[set]?.usable ?? 0;
    const runsOf = ({ spreads }: ComparedFigure, set: number) => spreads[set]?.runs ?? 0;
    const other = side === 0 ? index : 0;
    const missing = figures.filter((figure) => {
      const isCount = isCounted(figure) && figure.path !== USABLE_RUNS;
      const [here, there] = [side, other].map((set) => runsOf(figure, set) / usable(set)) as [number, number];
      return here < there && (isCount || (figure.primary && here === 0));
    });
    return [...Map.groupBy(missing, (figure) => runsOf(figure, side))].map(([runs, all]) => {
      const where = runs === 0 ? 'not known of' : `known in ${runs} of ${counted(usable(side), 'run')} of`;
      return `${where} ${nameOf(side)}: ${all.map(({ title }) => title).join(', ')}`;
    });
  });
}

/** Measured on both sides, with unknown noise. */
function isOpen(difference: Difference | undefined): boolean {
  return difference?.answer === 'cannot-tell' && difference.value !== null;
}

const OTHER_LOAD =
  'The loads differ, so only what is per connection or per message can be compared: times, rates and counts follow the load.';

/** @returns one line for each kind of conditions that differ, by their names: a table has their values */
export function mismatchLines(mismatches: Mismatch[]): string[] {
  const lines = [...Map.groupBy(mismatches, ({ aspect }) => aspect)].map(
    ([aspect, all]) => `${ASPECTS[aspect]}: ${all.map(({ name }) => name).join(', ')}`,
  );
  const differs = mismatches.some(({ aspect }) => aspect === 'load');
  return differs ? [OTHER_LOAD, ...lines] : lines;
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
