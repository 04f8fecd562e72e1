/**
 * Decides whether a figure is better, worse, equal or inconclusive between two sets of runs. One error budget
 * (probability of a false difference) of 5 % covers all figures that are decided together, such as the figures of a
 * study. docs/method/comparing.md explains the method.
 */
import type { Spread } from '../../protocol/documents/series-schema.ts';
import type { FigureDifference } from '../../protocol/documents/study-schema.ts';
import { type ComparableFigure, figureAccuracy } from '../figures/figures.ts';
import { holmRejections, rankSumP } from '../statistics/rank-sum.ts';
import {
  confidenceInterval,
  detectableDifference,
  runsNeeded,
  spreadOf,
  twoSidedPValue,
} from '../statistics/spread.ts';
import { hasMoreFaults, isFlaky, type MeasuredDifference, separateFaults } from './estimates.ts';

export type DifferenceAnswer = FigureDifference['answer'];

/** A pair of sets with the values of one figure, before the decision. */
export interface FigurePair {
  figure: ComparableFigure;
  a: Spread | null;
  b: Spread | null;
  /** Difference of the figure between the sets; null for a counted figure. */
  gap: MeasuredDifference | null;
  /** Number of faults in each run of both sets, for a counted figure. Null if one set was not counted. */
  faults: [a: number[], b: number[]] | null;
  invalidatedBy: string[];
}

export interface DecisionRules {
  /** Margin as a share of the reference's value. Smaller differences count as equal. */
  margin: number;
  /** Whether single runs may decide a counted figure. They do not show how often faults occur. */
  countsSingleRuns: boolean;
}

/** Error budget for each kind of figure: the maximum probability that at least one equal figure is called different. */
const ERRORS = { primary: 0.03, counted: 0.01, other: 0.01 };
const CONFIDENCE = 0.95;
/**
 * Assumed standard deviation between repeated runs, as a share of the value, for comparisons of single runs. The
 * interval within a run does not include it. Three equal runs differed by 10 % (docs/method/comparing.md), although the
 * interval of each fitted line is below 2 %. Medians of latencies deviated by 18 %, so two of them can differ by 65 %.
 */
const BETWEEN_RUNS_SHARE = { repeats: 0, study: 0, fit: 0.1, broadcasts: 1 };

/** Decides all pairs together and returns the difference of each pair. */
export function decidePairs(pairs: FigurePair[], rules: DecisionRules): FigureDifference[] {
  const families = Map.groupBy(pairs.filter(isTested), kindOf);
  const confidences = new Map<string, number>();
  const different = new Set<FigurePair>();
  for (const [kind, family] of families) {
    confidences.set(kind, 1 - ERRORS[kind] / family.length);
    const rejected = holmRejections(family.map(pOf), ERRORS[kind]);
    for (const [index, pair] of family.entries()) if (rejected[index]) different.add(pair);
  }
  return pairs.map((pair) => {
    const isDifferent = different.has(pair);
    const { faults } = pair;
    if (faults) return countedDifference(pair, faults, isDifferent || isSeparated(pair, pairs, rules), rules.margin);
    return measuredDifference(pair, isDifferent, confidences.get(kindOf(pair)) ?? CONFIDENCE, rules);
  });
}

function kindOf({ figure, faults }: FigurePair): keyof typeof ERRORS {
  return faults ? 'counted' : figure.primary ? 'primary' : 'other';
}

/**
 * Returns whether the pair needs a statistical test. A counted figure without any fault on either side is equal and
 * needs none.
 */
function isTested({ gap, faults }: FigurePair): boolean {
  return gap !== null || (faults?.flat().some((count) => count > 0) ?? false);
}

function pOf({ gap, faults }: FigurePair): number {
  if (faults) return rankSumP(...faults);
  return gap ? twoSidedPValue(gap.estimate) : 1;
}

/**
 * Returns whether every run of one side has more faults than the allowance of the other side. Used because an exact
 * test cannot decide so few runs. The rule does not apply if other runs that are decided together show that the fault
 * is intermittent.
 */
function isSeparated(pair: FigurePair, pairs: FigurePair[], { countsSingleRuns }: DecisionRules): boolean {
  const { faults, figure } = pair;
  if (!faults || separateFaults(...faults) === null) return false;
  if (!countsSingleRuns && faults.some(({ length }) => length === 1)) return false;
  const others = pairs.filter((one) => one.figure.path === figure.path && one !== pair);
  return !others.some((other) => other.faults?.some(isFlaky));
}

export function meanDifference(a: Spread | null, b: Spread | null): Pick<FigureDifference, 'value' | 'share'> {
  const value = a && b ? b.mean - a.mean : null;
  return { value, share: a && value !== null && a.mean !== 0 ? value / Math.abs(a.mean) : null };
}

export const UNKNOWN_DIFFERENCE = { low: null, high: null, detectable: null, runsNeeded: null, noise: null };

function countedDifference(
  { a, b, invalidatedBy }: FigurePair,
  faults: [number[], number[]],
  isDifferent: boolean,
  margin: number,
): FigureDifference {
  const different = hasMoreFaults(...faults) ? 'worse' : 'better';
  const answer = isSame(faults, margin) ? 'no-difference' : isDifferent ? different : 'inconclusive';
  return { ...UNKNOWN_DIFFERENCE, ...meanDifference(a, b), answer, noise: 'none', invalidatedBy };
}

/** Returns whether neither side has a fault, or all runs have the same number of faults within the margin. */
function isSame(faults: [number[], number[]], margin: number): boolean {
  const [a, b] = faults.map(spreadOf);
  if (!a || !b) return false;
  if (a.max === 0 && b.max === 0) return true;
  if (a.deviation === null || b.deviation === null || faults.some(isFlaky)) return false;
  const farthest = Math.max(a.max - b.min, b.max - a.min);
  return farthest <= margin * a.mean;
}

function measuredDifference(
  pair: FigurePair,
  isDifferent: boolean,
  confidence: number,
  { margin }: DecisionRules,
): FigureDifference {
  const { figure, a, b, gap, invalidatedBy } = pair;
  const { value, share } = meanDifference(a, b);
  if (!gap || value === null || !a || !b) {
    return { ...UNKNOWN_DIFFERENCE, answer: 'inconclusive', value, share, invalidatedBy };
  }
  const { estimate, noise } = gap;
  const betweenRuns = BETWEEN_RUNS_SHARE[noise] * Math.abs(a.mean);
  const within = confidenceInterval(estimate, CONFIDENCE);
  // The decision uses the displayed interval, so that the two agree.
  const [low, high] = [within.low - betweenRuns, within.high + betweenRuns];
  const accuracy = figureAccuracy(figure, a.mean);
  const threshold = Math.max(accuracy, betweenRuns);
  const allowed = Math.max(accuracy, margin * Math.abs(a.mean));
  const isSame = Math.max(high, -low) <= allowed;
  const known = { value, share, low, high, detectable: detectableDifference(estimate, confidence, threshold), noise };
  // A negative cost or time is an artefact of noise, so no decision is based on it.
  const isNegative = Math.min(a.mean, b.mean) < 0;
  if (!isSame && isDifferent && Math.abs(value) > threshold && !isNegative) {
    const answer = value > 0 === (figure.better === 'higher') ? 'better' : 'worse';
    return { ...known, answer, runsNeeded: null, invalidatedBy };
  }
  // Suggests enough runs for the observed difference or for the margin, whichever is larger. A larger difference
  // needs fewer runs.
  const size = Math.max(allowed, Math.abs(value));
  const needed = betweenRuns > 0 || isSame ? null : runsNeeded(estimate, Math.min(a.runs, b.runs), confidence, size);
  return { ...known, answer: isSame ? 'no-difference' : 'inconclusive', runsNeeded: needed, invalidatedBy };
}
