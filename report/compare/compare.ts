/**
 * Compares sets of runs and finds the figures that differ by more than the noise. A set is one run, or repeats of one. The first set is the
 * reference. docs/method/comparing.md explains the method.
 */
import type { Spread } from '../../protocol/documents/series-schema.ts';
import type { Difference } from '../../protocol/documents/study-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { COST } from '../answer/cost.ts';
import { disturbanceOf } from '../figures/contention.ts';
import { type Described, type Figure, faultsOf, invalidationsOf } from '../figures/figures.ts';
import { isUsable, measuredFigures } from '../figures/measured-figures.ts';
import { quantityOf } from '../model/amount.ts';
import { type PooledNoise, spreadOf } from '../statistics/spread.ts';
import { type Mismatch, mismatches, unreadOf } from './comparability.ts';
import { placeDifferences } from './compared-places.ts';
import { type Answer, decide, meanDifference, type Pair, UNKNOWN } from './decide.ts';
import { gapOf, type Runs, type Side, usableAnswer } from './estimates.ts';

export interface RunSet {
  /** For readers. */
  name: string;
  results: Result[];
  /** Number of further runs, which ended without a result. */
  lost?: number;
  /** Noise of each figure for each level in a study, over all combinations with that level. */
  levelNoise?: ReadonlyMap<string, PooledNoise>[];
}

export interface ComparedSet extends Runs {
  name: string;
  /** Verdict of each run with a result; INVALID runs contribute no figures. */
  statuses: Result['verdict']['status'][];
  /** First lines of the answer of each failed run. */
  failed: string[];
  /** Disturbance of each usable run whose times, rates and CPU are ignored because of it. */
  disturbed: string[];
}

export interface ComparedFigure extends Described {
  /** Empty for counts and shares. */
  unit: string;
  /** Spread per set; null if it is unknown. */
  spreads: (Spread | null)[];
  /** Codes of the findings that invalidate the figure in some runs, per set. */
  invalidated: string[][];
  /** A difference for each set after the first. */
  differences: Difference[];
}

export interface Comparison {
  sets: ComparedSet[];
  /** Margin: smaller differences do not matter, as a share of the reference. */
  margin: number;
  mismatches: Mismatch[];
  figures: ComparedFigure[];
  /** Functions of the workers with a changed cost, per set after the first. */
  places: string[][];
}

/** Default margin, as a share of the reference. */
export const MARGIN = 0.1;

export interface Options {
  margin?: number;
  /** Whether the sets belong to a study, whose levels may set different loads. */
  isStudy?: boolean;
}

export function asCompared({ name, results, lost = 0 }: RunSet): ComparedSet {
  const usable = results.filter(isUsable);
  return {
    name,
    statuses: results.map(({ verdict }) => verdict.status),
    failed: results.flatMap(({ outcome, answer }) => (outcome.status === 'FAILED' ? (answer.cause ?? []) : [])),
    disturbed: usable.flatMap((result) => disturbanceOf(result)?.text ?? []),
    usable: usable.length,
    made: results.length + lost,
  };
}

/** @param sets the reference, then the sets to compare with it */
export function compare(sets: RunSet[], options: Options = {}): Comparison {
  return compareAll([sets], options)[0] as Comparison;
}

/** Compares several groups with a common error budget. @param groups sets of each comparison, the reference first */
export function compareAll(groups: RunSet[][], { margin = MARGIN, isStudy = false }: Options = {}): Comparison[] {
  const measured = groups.map((sets) => comparablePairs(sets, isStudy));
  const decided = decide(
    measured.flatMap((rows) => rows.flatMap(({ pairs }) => pairs)),
    { margin, countsSingleRuns: !isStudy },
  );
  let next = 0;
  return groups.map((sets, group) => {
    const comparedSets = sets.map(asCompared);
    const figures = (measured[group] ?? []).map(({ pairs, ...row }): ComparedFigure => {
      const differences = decided.slice(next, next + pairs.length);
      next += pairs.length;
      return { ...row, differences };
    });
    return {
      sets: comparedSets,
      margin,
      mismatches: mismatches(sets.map(({ results }) => results)),
      figures: [...usableFigure(comparedSets), ...figures],
      places: placesOfSets(sets),
    };
  });
}

function placesOfSets(sets: RunSet[]): string[][] {
  const [reference = [], ...others] = sets.map(({ results }) => results.filter(isUsable));
  return others.map((runs) => placeDifferences(reference, runs));
}

/** Returns each figure with a pair for each set after the first. */
function comparablePairs(sets: RunSet[], isStudy: boolean) {
  const usable = sets.map(({ results }) => results.filter(isUsable));
  return comparableFigures(usable, isStudy).map(({ figure, spreads, invalidatedBy }) => {
    const sides = sets.map(({ levelNoise = [] }, set): Side => {
      const levels = levelNoise.flatMap((noise) => noise.get(figure.path) ?? []);
      return { runs: usable[set] ?? [], spread: spreads[set] ?? null, levels };
    });
    const faults = usable.map((runs) => faultsIn(figure, runs));
    const [reference, ...others] = sides as [Side, ...Side[]];
    const pairs = others.map((other, index): Pair => {
      const [a, b] = [faults[0] ?? [], faults[index + 1] ?? []];
      const isAlike = figure.path !== COST || readSameParts([...reference.runs, ...other.runs]);
      return {
        ...{ figure, a: reference.spread, b: other.spread, gap: isAlike ? gapOf(figure, reference, other) : null },
        faults: a.length > 0 && b.length > 0 ? [a, b] : null,
        invalidatedBy: [...new Set([...(invalidatedBy[0] ?? []), ...(invalidatedBy[index + 1] ?? [])])],
      };
    });
    const { declared: _, ...described } = figure;
    const { unit } = quantityOf(figure.quantity);
    return { ...described, unit, spreads, invalidated: invalidatedBy, pairs };
  });
}

/** A run that could not read a part of the deployment reports a lower cost. */
function readSameParts(runs: Result[]): boolean {
  return new Set(runs.map(unreadOf)).size < 2;
}

function faultsIn(figure: Figure, runs: Result[]): number[] {
  return runs.flatMap((run) => (invalidationsOf(run, figure).length > 0 ? [] : (faultsOf(run, figure) ?? [])));
}

/** Path of the share of usable runs. The result document has no such key. */
export const USABLE_RUNS = 'runs.usable';

/** Share of usable runs, first in the list if it differs between sets. A version that mostly crashes can be fast in its other runs. */
function usableFigure(all: ComparedSet[]): ComparedFigure[] {
  const [reference, ...others] = all;
  if (!reference || all.every(({ usable, made }) => usable === made) || all.some(({ made }) => made === 0)) return [];
  const spreads = all.map(({ usable, made }) =>
    spreadOf(Array.from({ length: made }, (_, run) => (run < usable ? 1 : 0))),
  );
  return [
    {
      ...{ path: USABLE_RUNS, title: 'Usable runs', quantity: 'share', better: 'higher', unit: '', spreads },
      invalidated: all.map(() => []),
      differences: others.map((set, index) =>
        usableDifference(spreads[0] ?? null, spreads[index + 1] ?? null, usableAnswer(reference, set)),
      ),
    },
  ];
}

function usableDifference(a: Spread | null, b: Spread | null, answer: Answer): Difference {
  const noise = answer === 'inconclusive' ? null : 'none';
  return { ...UNKNOWN, ...meanDifference(a, b), answer, noise, invalidatedBy: [] };
}

/**
 * Compares only costs and losses per connection if the numbers of connections differ. A study compares everything except the number of
 * connections. A higher requested rate does not count as a faster side.
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
