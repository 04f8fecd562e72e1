/** Texts of a comparison: for each figure, and for the comparison as a whole. */
import type { FigureDifference } from '../../protocol/documents/study-schema.ts';
import { isCountFigure, titleOfFigure } from '../figures/figures.ts';
import { type Amount, amount, numberText } from '../model/amount.ts';
import { figuresTable, type Table, type TableCell } from '../model/document.ts';
import { changeText, countText, exactDecimalsText, isShownInPercent } from '../text/format.ts';
import type { ConditionMismatch } from './comparability.ts';
import { type ComparedFigure, type ComparedSet, type Comparison, USABLE_RUNS_KEY } from './compare.ts';

const ANSWERS = {
  better: { mark: 'better', text: 'better' },
  worse: { mark: 'worse', text: 'WORSE' },
  'no-difference': 'no difference',
} as const satisfies Record<string, TableCell>;

export const MISMATCH_TEXTS: Record<ConditionMismatch['aspect'], string> = {
  load: 'different load',
  machine: 'different machine',
  system: 'different system',
  deployment: 'different deployment',
};

export function setLetter(index: number): string {
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
  return `${name} (${countText(made, 'run')}: ${counts.join(', ')}${without}${partly})`;
}

/**
 * Returns a table of the set's figures next to the figures of the reference. Different figures come first, unknown
 * figures last.
 */
export function comparedTable(
  title: string,
  figures: ComparedFigure[],
  index: number,
  [reference, other]: [string, string],
  folded = false,
): Table {
  const rows = figures
    .toSorted((a, b) => rankOf(b, index) - rankOf(a, index))
    .map((figure): TableCell[] => {
      const difference = figure.differences[index - 1] as FigureDifference;
      const [a, b] = [0, index].map((set) => amount(figure.quantity, figure.spreads[set]?.mean)) as [Amount, Amount];
      const answer = answerCell(difference);
      return [
        titleOfFigure(figure),
        a,
        b,
        answer,
        differenceText(figure, difference),
        detectableText(figure, difference),
      ];
    });
  return figuresTable(title, ['Figure', reference, other, 'Answer', 'Difference', 'Would show'], rows, folded);
}

/**
 * Returns the answer of a figure. An inconclusive answer includes the codes of the findings that invalidate the figure.
 */
function answerCell({ answer, value, invalidatedBy }: FigureDifference): TableCell {
  if (answer !== 'inconclusive') return ANSWERS[answer];
  if (invalidatedBy.length > 0) return `inconclusive: ${invalidatedBy.join(', ')}`;
  return value === null ? 'unknown' : 'inconclusive';
}

function rankOf({ differences }: ComparedFigure, index: number): number {
  const { answer = 'inconclusive', value = null } = differences[index - 1] ?? {};
  if (value === null) return 0;
  return { better: 3, worse: 3, 'no-difference': 2, inconclusive: 1 }[answer];
}

/**
 * Formats a difference with the half-width of its interval. The text is in percent, except for counts and for
 * references near zero.
 */
function differenceText(figure: ComparedFigure, { value, share, low, high }: FigureDifference): string {
  if (value === null) return '–';
  const half = low === null || high === null ? 0 : (high - low) / 2;
  const reference = Math.abs(figure.spreads[0]?.mean ?? 0);
  const inPercent = !isCountFigure(figure) && share !== null && isShownInPercent(reference, value, half);
  const text = (difference: number) => (inPercent ? percentText(difference / reference) : plain(figure, difference));
  const margin = half > 0 ? ` ± ${text(half)}` : '';
  return `${value > 0 ? '+' : ''}${text(value)}${margin}${inPercent ? ' %' : ''}`;
}

/** Returns the smallest change that 80 % of such comparisons would detect. Only for figures that are equal. */
function detectableText({ spreads }: ComparedFigure, { answer, detectable }: FigureDifference): string {
  const reference = Math.abs(spreads[0]?.mean ?? 0);
  if (answer === 'better' || answer === 'worse' || detectable === null || reference === 0) return '';
  const share = detectable / reference;
  return share < 1 ? `± ${changeText(share)}` : changeText(share);
}

/** Formats a difference. Differences between shares are shown in percentage points. */
function plain({ quantity }: ComparedFigure, value: number): string {
  return quantity === 'share' ? `${exactDecimalsText(100 * value, 2)} pp` : numberText(quantity, value);
}

export function percentText(share: number): string {
  return exactDecimalsText(100 * share, Math.abs(share) < 0.0995 ? 1 : 0);
}

/** Share of the runs of a set from which they count as most runs. */
const MAJORITY = 0.5;

/** Answer for one compared set, in one line. */
export interface ComparisonHeadline {
  answer: FigureDifference['answer'];
  text: string;
  /** Reasons for an inconclusive answer, besides inconclusive figures. */
  unsure: string[];
  /** Primary or counted figures that both sets of runs have, and whose difference is inconclusive. */
  open: OpenFigure[];
}

interface OpenFigure {
  title: string;
  /** Reason why the figure is inconclusive. */
  reason: 'counts' | 'runs' | 'noise' | 'negative' | 'interval' | 'reading';
  /** Number of runs per set that a decision would need; null if unknown or above 1,000. */
  runsNeeded: number | null;
}

/**
 * Returns the answer for a set. A worse figure makes the answer worse. Otherwise, the answer is inconclusive if a
 * primary figure, a counted figure or the share of usable runs is inconclusive.
 * @param nameOf returns the name of a set
 * @returns `worse in Connections failed, Delivered; better in …`
 */
export function comparisonHeadline(comparison: Comparison, index: number, nameOf = setLetter): ComparisonHeadline {
  const { sets, figures } = comparison;
  const [a, b] = [sets[0], sets[index]] as [ComparedSet, ComparedSet];
  const titles = (answer: FigureDifference['answer']) =>
    figures.flatMap(({ title, differences }) => (differences[index - 1]?.answer === answer ? [title] : []));
  const [worse, better, same] = [titles('worse'), titles('better'), titles('no-difference')];
  const moreFailed = failuresText(a, b, index, nameOf);
  const empty = [a, b].find(({ usable }) => usable === 0);
  if (empty && worse.length === 0) {
    const why =
      empty.made === 0 ? `no figures of ${nameOf(empty === a ? 0 : index)}` : 'no usable measurement (INVALID)';
    const text = `inconclusive: ${why}`;
    return { answer: 'inconclusive', text, unsure: [text], open: [] };
  }
  const unsure = [
    ...(figures.some(({ path, differences }) => path === USABLE_RUNS_KEY && isOpen(differences[index - 1]))
      ? [`${unusableText(a)} and ${unusableText(b)} runs without figures`]
      : []),
    ...(empty ? [] : gapsOf(comparison, index, nameOf)),
    ...([a, b].every(({ usable, disturbed }) => usable > 0 && disturbed.length === usable)
      ? ['times, rates and CPU do not count, as others disturbed all runs']
      : []),
  ];
  const open = openFigures(comparison, index);
  const isNothing = worse.length + better.length + same.length + unsure.length + open.length === 0;
  if (isNothing) unsure.push('inconclusive: nothing was measured on both sides');
  const isUnsure = unsure.length + open.length > 0;
  const changes = [
    ...(moreFailed ? [moreFailed] : []),
    ...(worse.length > 0 ? [`worse in ${worse.join(', ')}`] : []),
    ...(better.length > 0 ? [`better in ${better.join(', ')}`] : []),
    ...unsure,
    ...inconclusiveTexts(open),
  ];
  const none = worse.length + better.length === 0 && same.length > 0;
  const rest = none ? [isUnsure ? `no difference in ${countText(same.length, 'other figure')}` : 'no difference'] : [];
  return {
    answer:
      worse.length > 0 || moreFailed
        ? 'worse'
        : isUnsure
          ? 'inconclusive'
          : better.length > 0
            ? 'better'
            : 'no-difference',
    text: [...changes, ...rest].join('; '),
    ...{ unsure, open },
  };
}

/**
 * Returns `B failed: 50.00 % of the copies …` if most runs of set B failed and fewer than half of the reference's runs
 * failed.
 */
function failuresText(a: ComparedSet, b: ComparedSet, index: number, nameOf: typeof setLetter): string | undefined {
  const share = ({ failed, statuses }: ComparedSet) => failed.length / Math.max(1, statuses.length);
  const [first = ''] = b.failed;
  if (share(b) <= MAJORITY || share(a) >= MAJORITY) return undefined;
  const runs = b.statuses.length > 1 ? ` in ${b.failed.length} of ${countText(b.statuses.length, 'run')}` : '';
  return `${nameOf(index)} failed${runs}: ${first}`;
}

function unusableText({ usable, made }: ComparedSet): string {
  return `${made - usable} of ${made}`;
}

function isDeciding(figure: ComparedFigure): boolean {
  return figure.path !== USABLE_RUNS_KEY && (figure.primary === true || isCountFigure(figure));
}

function openFigures({ figures }: Comparison, index: number): OpenFigure[] {
  return figures.flatMap((figure): OpenFigure[] => {
    const difference = figure.differences[index - 1];
    if (!difference || !isDeciding(figure) || !isOpen(difference)) return [];
    const { noise, runsNeeded } = difference;
    const hasNoise = noise === 'repeats' || noise === 'study';
    const isNegative = [0, index].some((set) => (figure.spreads[set]?.mean ?? 0) < 0);
    const isRepeated = [0, index].some((set) => (figure.spreads[set]?.runs ?? 0) > 1);
    const isOfMemory = noise === 'fit' && figure.path.startsWith('memory.');
    const lacking = hasNoise ? 'noise' : noise === 'fit' && isRepeated ? 'interval' : isOfMemory ? 'reading' : 'runs';
    const reason = isCountFigure(figure) ? 'counts' : isNegative ? 'negative' : lacking;
    return [{ title: figure.title, reason, runsNeeded }];
  });
}

const MISSING = {
  counts: 'more runs would show how often such faults happen',
  negative: 'a figure below 0 is noise; more connections would narrow it',
  interval: 'its interval within a run is too wide, which more runs do not change; more connections would narrow it',
  reading:
    'its interval within a run is too wide: more connections would narrow it, `workers.inspect` where garbage is the cause, or more runs',
  runs: 'too few runs',
};

/** Lists the inconclusive figures by reason, each with the way to get a conclusion. */
export function inconclusiveTexts(open: OpenFigure[]): string[] {
  return [...Map.groupBy(open, ({ reason }) => reason)].map(([reason, own]) => {
    const titles = [...Map.groupBy(own, ({ title }) => title)].map(([title, all]) => {
      if (reason !== 'noise') return title;
      const most = Math.max(...all.map(({ runsNeeded }) => runsNeeded ?? Number.POSITIVE_INFINITY));
      return `${title} (${Number.isFinite(most) ? `about ${most}` : 'over 1,000'})`;
    });
    const list = titles.join(', ');
    if (reason === 'noise') return `inconclusive (runs of each side needed): ${list}`;
    return `inconclusive in ${list}: ${MISSING[reason]}`;
  });
}

/**
 * Lists primary and counted figures that some runs of a set lack, or that findings invalidate. A missing figure can
 * hide a worse version: a version that sends nothing has no late messages.
 */
function gapsOf({ sets, figures }: Comparison, index: number, nameOf: typeof setLetter): string[] {
  return [0, index].flatMap((side) => {
    const usable = (set: number) => sets[set]?.usable ?? 0;
    const runsOf = ({ spreads }: ComparedFigure, set: number) => spreads[set]?.runs ?? 0;
    const other = side === 0 ? index : 0;
    const missing = figures.filter((figure) => {
      const [here, there] = [side, other].map((set) => runsOf(figure, set) / usable(set)) as [number, number];
      if (!isDeciding(figure)) return false;
      if (here === 0 && figure.invalidated[side]?.length) return true;
      return here < there && (isCountFigure(figure) || here === 0);
    });
    const keyOf = (figure: ComparedFigure) => [runsOf(figure, side), ...(figure.invalidated[side] ?? [])].join();
    return [...Map.groupBy(missing, keyOf).values()].map((all) => {
      const [figure] = all as [ComparedFigure];
      const runs = runsOf(figure, side);
      const where = runs === 0 ? 'unknown for' : `known in ${runs} of ${countText(usable(side), 'run')} of`;
      const codes = figure.invalidated[side] ?? [];
      const why = codes.length > 0 ? ` (invalidated by ${codes.join(', ')})` : '';
      return `${where} ${nameOf(side)}: ${all.map(({ title }) => title).join(', ')}${why}`;
    });
  });
}

/** Returns whether the figure was measured on both sides but is inconclusive. */
function isOpen(difference: FigureDifference | undefined): boolean {
  return difference?.answer === 'inconclusive' && difference.value !== null;
}

const OTHER_LOAD =
  'The loads differ, so only what is per connection or per message can be compared: times, rates and counts follow the load.';

/**
 * Returns one line for each kind of differing condition, with the names of the conditions. A table has their values.
 */
export function mismatchLines(mismatches: ConditionMismatch[]): string[] {
  const lines = [...Map.groupBy(mismatches, ({ aspect }) => aspect)].map(
    ([aspect, all]) => `${MISMATCH_TEXTS[aspect]}: ${all.map(({ name }) => name).join(', ')}`,
  );
  const differs = mismatches.some(({ aspect }) => aspect === 'load');
  return differs ? [OTHER_LOAD, ...lines] : lines;
}

/** Returns the notes that explain the columns of the table. */
export function tableNotes({ figures, margin }: Pick<Comparison, 'figures' | 'margin'>): string[] {
  const differences = figures.flatMap((figure) => figure.differences);
  const within = differences.some(({ noise }) => noise === 'fit' || noise === 'broadcasts');
  return [
    `± is half of a difference’s 95 % interval. “No difference” is an interval within ± ${percentText(margin)} %, or within the accuracy of the measurement. “Better” and “worse” allow for the number of figures (Holm): with 95 %, none is so by chance. Anything else is inconclusive. “Would show” is the smallest change that four of five such comparisons detect. Missing connections and copies are counted.`,
    ...(within
      ? [
          'Intervals of single runs come from the fit of their lines, and from their broadcasts, and allow for what runs differ by.',
        ]
      : []),
    ...(differences.some((one) => isOpen(one) && one.noise === null)
      ? ['A single run does not show how much runs vary; `npx socketio-capacity study <scenario>` measures that.']
      : []),
  ];
}
