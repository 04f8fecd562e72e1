/**
 * Compares sets of runs: which figures differ by more than the noise. A set is one run, or repeats of one; the first is
 * the reference. docs/method/comparing.md explains the method.
 */
import type { Spread } from '../../protocol/documents/series-schema.ts';
import type { Difference } from '../../protocol/documents/study-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { COST } from '../answer/cost.ts';
import { type Described, type Figure, faultsOf, invalidationsOf } from '../figures/figures.ts';
import { isUsable, measuredFigures } from '../figures/measured-figures.ts';
import { disturbanceOf } from '../figures/others.ts';
import { quantityOf } from '../model/amount.ts';
import { type PooledNoise, spreadOf } from '../statistics/spread.ts';
import { type Mismatch, mismatches, unreadOf } from './comparability.ts';
import { placeDifferences } from './compared-places.ts';
import { type Runs, usableAnswer } from './counted.ts';
import { type Answer, apartness, decide, type Pair, UNKNOWN } from './decide.ts';
import { apart, type Side } from './estimates.ts';

export interface RunSet {
  /** For readers. */
  name: string;
  results: Result[];
  /** Further runs, which ended without a result. */
  lost?: number;
  /** In a study, for each of its levels, the noise of each figure over all combinations with that level. */
  levelNoise?: ReadonlyMap<string, PooledNoise>[];
}

export interface ComparedSet extends Runs {
  name: string;
  /** Status of each run that left a result; INVALID ones contribute no figures. */
  statuses: Result['verdict']['status'][];
  /** First lines of the answer of each failed run. */
  failed: string[];
  /** Disturbance of each usable run whose times, rates and CPU do not count because of it. */
  disturbed: string[];
}

export interface ComparedFigure extends Described {
  /** Empty of counts and shares. */
  unit: string;
  /** Spread per set; null if it is unknown. */
  spreads: (Spread | null)[];
  /** Per set, codes of the findings that invalidate it in some of the set's runs. */
  invalidated: string[][];
  /** A difference per set after the first. */
  differences: Difference[];
}

export interface Comparison {
  sets: ComparedSet[];
  /** Share of the reference within which a difference does not matter. */
  margin: number;
  mismatches: Mismatch[];
  figures: ComparedFigure[];
  /** Per set after the first, functions of the workers that need more or less. */
  places: string[][];
}

/** Default margin: a difference within this share of the reference does not matter. */
export const MARGIN = 0.1;

export interface Options {
  /** Share of the reference within which a difference does not matter. */
  margin?: number;
  /** Whether the sets are those of a study, whose levels may ask for different loads. */
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

/** @param sets the reference, and the sets to compare with it */
export function compare(sets: RunSet[], options: Options = {}): Comparison {
  return compareAll([sets], options)[0] as Comparison;
}

/**
 * @param groups the sets of each comparison, the reference first
 * @returns a comparison for each group; one error budget covers them all
 */
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

/** @returns each figure with a pair for each set after the first */
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
      const isAlike = figure.path !== COST || countsAlike([...reference.runs, ...other.runs]);
      return {
        ...{ figure, a: reference.spread, b: other.spread, apart: isAlike ? apart(figure, reference, other) : null },
        faults: a.length > 0 && b.length > 0 ? [a, b] : null,
        invalidatedBy: [...new Set([...(invalidatedBy[0] ?? []), ...(invalidatedBy[index + 1] ?? [])])],
      };
    });
    const { declared: _, ...described } = figure;
    const { unit } = quantityOf(figure.quantity);
    return { ...described, unit, spreads, invalidated: invalidatedBy, pairs };
  });
}

/** A run that could not read a part of the deployment costs less. */
function countsAlike(runs: Result[]): boolean {
  return new Set(runs.map(unreadOf)).size < 2;
}

function faultsIn(figure: Figure, runs: Result[]): number[] {
  return runs.flatMap((run) => (invalidationsOf(run, figure).length > 0 ? [] : (faultsOf(run, figure) ?? [])));
}

/** In place of a key of the result document. */
export const USABLE_RUNS = 'runs.usable';

/** The first figure, where it is not the same everywhere: a version that mostly dies can be as quick as before when it does not. */
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
  return { ...UNKNOWN, ...apartness(a, b), answer, noise, invalidatedBy: [] };
}

/**
 * With different numbers of connections, only costs and losses per connection are compared. A study compares the rest, too, except the
 * number of connections. A higher requested rate makes no side faster.
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
