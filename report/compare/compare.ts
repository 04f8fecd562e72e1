/**
 * Compares sets of runs and finds the figures that differ by more than the noise. A set consists of one run or of
 * repeated runs. The first set is the reference. docs/method/comparing.md explains the method.
 */
import type { Spread } from '../../protocol/documents/series-schema.ts';
import type { FigureDifference } from '../../protocol/documents/study-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { COST_KEY } from '../answer/cost.ts';
import { distortingContention } from '../figures/contention.ts';
import { type ComparableFigure, type DescribedFigure, faultCount, invalidationsOf } from '../figures/figures.ts';
import { isUsable, measuredFigures } from '../figures/measured-figures.ts';
import { quantityOf } from '../model/amount.ts';
import { type PooledNoise, spreadOf } from '../statistics/spread.ts';
import { type ConditionMismatch, findMismatches, unreadPartsText } from './comparability.ts';
import { codePlaceDifferences } from './compared-places.ts';
import { type DifferenceAnswer, decidePairs, type FigurePair, meanDifference, UNKNOWN_DIFFERENCE } from './decide.ts';
import { type ComparedSide, measuredDifference, type UsableRuns, usableAnswer } from './estimates.ts';

export interface RunSet {
  /** For readers. */
  name: string;
  results: Result[];
  /** Number of further runs of the set that ended without a result. */
  lost?: number;
  /**
   * Noise of each figure in a study, by level (value of the varied setting) of this set. It is pooled over all
   * combinations with that level.
   */
  levelNoise?: ReadonlyMap<string, PooledNoise>[];
}

export interface ComparedSet extends UsableRuns {
  name: string;
  /** Verdict of each run with a result. INVALID runs contribute no figures. */
  statuses: Result['verdict']['status'][];
  /** First line of the answer of each run that failed. */
  failed: string[];
  /**
   * Description of other programs' CPU use in each run that they disturbed. Times, rates and CPU figures of such a run
   * are ignored.
   */
  disturbed: string[];
}

export interface ComparedFigure extends DescribedFigure {
  /** Unit of the figure; empty for counts and shares. */
  unit: string;
  /** Mean and spread of the figure in each set; null if the figure is unknown. */
  spreads: (Spread | null)[];
  /** Codes of findings that invalidated the figure in some runs, for each set. */
  invalidated: string[][];
  /** Difference of the figure from the reference, for each other set. */
  differences: FigureDifference[];
}

export interface Comparison {
  sets: ComparedSet[];
  /** Margin as a share of the reference's value. Smaller differences count as equal. */
  margin: number;
  mismatches: ConditionMismatch[];
  figures: ComparedFigure[];
  /** Texts about functions of the workers whose cost changed, for each set except the reference. */
  places: string[][];
}

/** Default margin of a comparison, as a share of the reference's value. */
export const DEFAULT_MARGIN = 0.1;

export interface CompareOptions {
  margin?: number;
  /** Whether the sets belong to a study. The levels of a study may differ in their load. */
  isStudy?: boolean;
}

export function comparedSetOf({ name, results, lost = 0 }: RunSet): ComparedSet {
  const usable = results.filter(isUsable);
  return {
    name,
    statuses: results.map(({ verdict }) => verdict.status),
    failed: results.flatMap(({ outcome, answer }) => (outcome.status === 'FAILED' ? (answer.cause ?? []) : [])),
    disturbed: usable.flatMap((result) => distortingContention(result)?.text ?? []),
    usable: usable.length,
    made: results.length + lost,
  };
}

/**
 * Compares sets of runs.
 * @param sets the reference set, then the sets to compare with it
 */
export function compareSets(sets: RunSet[], options: CompareOptions = {}): Comparison {
  return compareGroups([sets], options)[0] as Comparison;
}

/**
 * Compares several groups of sets with a common error budget (maximum probability of false differences).
 * @param groups sets of each comparison, the reference first
 */
export function compareGroups(
  groups: RunSet[][],
  { margin = DEFAULT_MARGIN, isStudy = false }: CompareOptions = {},
): Comparison[] {
  const measured = groups.map((sets) => comparablePairs(sets, isStudy));
  const decided = decidePairs(
    measured.flatMap((rows) => rows.flatMap(({ pairs }) => pairs)),
    { margin, countsSingleRuns: !isStudy },
  );
  let next = 0;
  return groups.map((sets, group) => {
    const comparedSets = sets.map(comparedSetOf);
    const figures = (measured[group] ?? []).map(({ pairs, ...row }): ComparedFigure => {
      const differences = decided.slice(next, next + pairs.length);
      next += pairs.length;
      return { ...row, differences };
    });
    return {
      sets: comparedSets,
      margin,
      mismatches: findMismatches(sets.map(({ results }) => results)),
      figures: [...usableFigure(comparedSets), ...figures],
      places: placesOfSets(sets),
    };
  });
}

function placesOfSets(sets: RunSet[]): string[][] {
  const [reference = [], ...others] = sets.map(({ results }) => results.filter(isUsable));
  return others.map((runs) => codePlaceDifferences(reference, runs));
}

/** Returns each figure with a pair of values for each set except the reference. */
function comparablePairs(sets: RunSet[], isStudy: boolean) {
  const usable = sets.map(({ results }) => results.filter(isUsable));
  return comparableFigures(usable, isStudy).map(({ figure, spreads, invalidatedBy }) => {
    const sides = sets.map(({ levelNoise = [] }, set): ComparedSide => {
      const levels = levelNoise.flatMap((noise) => noise.get(figure.path) ?? []);
      return { runs: usable[set] ?? [], spread: spreads[set] ?? null, levels };
    });
    const faults = usable.map((runs) => faultsIn(figure, runs));
    const [reference, ...others] = sides as [ComparedSide, ...ComparedSide[]];
    const pairs = others.map((other, index): FigurePair => {
      const [a, b] = [faults[0] ?? [], faults[index + 1] ?? []];
      const isAlike = figure.path !== COST_KEY || readSameParts([...reference.runs, ...other.runs]);
      return {
        ...{
          figure,
          a: reference.spread,
          b: other.spread,
          gap: isAlike ? measuredDifference(figure, reference, other) : null,
        },
        faults: a.length > 0 && b.length > 0 ? [a, b] : null,
        invalidatedBy: [...new Set([...(invalidatedBy[0] ?? []), ...(invalidatedBy[index + 1] ?? [])])],
      };
    });
    const { declared: _, ...described } = figure;
    const { unit } = quantityOf(figure.quantity);
    return { ...described, unit, spreads, invalidated: invalidatedBy, pairs };
  });
}

/**
 * Returns whether all runs read the same parts of the deployment. An unread part lowers the reported memory per
 * connection.
 */
function readSameParts(runs: Result[]): boolean {
  return new Set(runs.map(unreadPartsText)).size < 2;
}

function faultsIn(figure: ComparableFigure, runs: Result[]): number[] {
  return runs.flatMap((run) => (invalidationsOf(run, figure).length > 0 ? [] : (faultCount(run, figure) ?? [])));
}

/** Key of the share of usable runs in a comparison. The result document does not contain it. */
export const USABLE_RUNS_KEY = 'runs.usable';

/**
 * Returns the share of usable runs as a figure, if it differs between sets. Without this figure, a version that crashes
 * in most runs could look fast in the remaining runs.
 */
function usableFigure(all: ComparedSet[]): ComparedFigure[] {
  const [reference, ...others] = all;
  if (!reference || all.every(({ usable, made }) => usable === made) || all.some(({ made }) => made === 0)) return [];
  const spreads = all.map(({ usable, made }) =>
    spreadOf(Array.from({ length: made }, (_, run) => (run < usable ? 1 : 0))),
  );
  return [
    {
      ...{ path: USABLE_RUNS_KEY, title: 'Usable runs', quantity: 'share', better: 'higher', unit: '', spreads },
      invalidated: all.map(() => []),
      differences: others.map((set, index) =>
        usableDifference(spreads[0] ?? null, spreads[index + 1] ?? null, usableAnswer(reference, set)),
      ),
    },
  ];
}

function usableDifference(a: Spread | null, b: Spread | null, answer: DifferenceAnswer): FigureDifference {
  const noise = answer === 'inconclusive' ? null : 'none';
  return { ...UNKNOWN_DIFFERENCE, ...meanDifference(a, b), answer, noise, invalidatedBy: [] };
}

/**
 * Chooses the figures that can be compared. If the numbers of connections differ, only costs and losses per connection
 * are compared. A study compares everything except the number of connections. The connect rate is left out if the
 * requested rates differ, because a higher request is not a better result.
 */
function comparableFigures(sets: Result[][], isStudy: boolean): ReturnType<typeof measuredFigures> {
  const isOne = (key: 'target' | 'configuredRatePerSec') =>
    new Set(sets.flat().map(({ connections }) => connections[key])).size === 1;
  const [isOneLoad, isOneRate] = [isOne('target'), isOne('configuredRatePerSec')];
  return measuredFigures(sets).filter(({ figure: { declared } }) => {
    const { follows } = declared;
    const isOfLoad = isStudy ? follows === 'target' : follows !== undefined;
    return (isOneLoad || !isOfLoad) && (isOneRate || follows !== 'rate');
  });
}
