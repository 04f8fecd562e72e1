/**
 * What a study answers: for each name that varies, and each setting of the others, how the name's levels compare with its
 * first one.
 */

import { lostAmong } from '../../protocol/documents/series.ts';
import type { Level, Levels, Plan, Study } from '../../protocol/documents/study.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type Comparison, compare, type RunSet } from '../compare/compare.ts';
import { figureSpreads, isUsable } from '../figures/measured-figures.ts';
import { type PooledNoise, pooledNoise } from '../statistics/spread.ts';

/** A run, with its result if it left one. */
export interface MeasuredRun {
  levels: Levels;
  /** Undefined where it is known to have come to its end. */
  exitCode?: number;
  result: Result | undefined;
}

/** The levels of one name at one setting of the others. */
export interface Context {
  /** Names with several levels; empty if there are no others. */
  others: Levels;
  /** Those of the name that go together with the others; the first one is the reference. */
  levels: Level[];
  /** One set for each of the levels. */
  comparison: Comparison;
}

export interface Question {
  name: string;
  levels: Level[];
  contexts: Context[];
}

/** @returns every combination of levels that go together, the last name varying fastest */
export function combinationsOf({ vary, except }: Pick<Plan, 'vary' | 'except'>): Levels[] {
  return allCombinations(vary).filter((combination) => !except.some((levels) => hasAll(combination, levels)));
}

export function questionsOf(plan: Plan, runs: MeasuredRun[]): Question[] {
  const { vary } = plan;
  const planned = combinationsOf(plan);
  const noise = noiseOf(planned, runs);
  const varied = Object.fromEntries(Object.entries(vary).filter(([, levels]) => levels.length > 1));
  return Object.entries(varied).map(([name, all]) => {
    const { [name]: _, ...rest } = varied;
    const contexts = allCombinations(rest).flatMap((others) => {
      const levels = all.filter((level) => planned.some((one) => hasAll(one, { ...others, [name]: level })));
      if (levels.length < 2) return [];
      const sets = levels.map((level) => ({
        name: labelOf({ [name]: level }),
        ...sideOf(runs, { ...others, [name]: level }),
      }));
      // Two combinations have no more noise than they tell themselves.
      return [{ others, levels, comparison: compare(sets, planned.length > 2 ? noise : new Map()) }];
    });
    return { name, levels: all, contexts };
  });
}

/** @returns what study.json has of the runs' figures */
export function summarize(plan: Plan, runs: MeasuredRun[]): Pick<Study, 'combinations' | 'differences'> {
  return {
    combinations: combinationsOf(plan).map((levels) => {
      const { results } = sideOf(runs, levels);
      return { levels, usable: results.filter(isUsable).length, figures: figureSpreads(results) };
    }),
    differences: questionsOf(plan, runs).flatMap(({ name, contexts }) =>
      contexts.flatMap(({ others, levels: [reference = '', ...levels], comparison: { figures } }) =>
        levels.map((level, index) => ({
          name,
          others,
          reference,
          level,
          figures: Object.fromEntries(
            figures.flatMap(({ path, differences }) => {
              const difference = differences[index];
              return difference ? [[path, difference] as const] : [];
            }),
          ),
        })),
      ),
    ),
  };
}

/** @returns by the figure's path, how much runs of the same combination differ */
function noiseOf(combinations: Levels[], runs: MeasuredRun[]): Map<string, PooledNoise> {
  const spreads = combinations.flatMap((levels) => Object.entries(figureSpreads(sideOf(runs, levels).results)));
  return new Map(
    [...Map.groupBy(spreads, ([path]) => path)].flatMap(([path, own]) => {
      const noise = pooledNoise(own.map(([, spread]) => spread));
      return noise ? [[path, noise] as const] : [];
    }),
  );
}

/** @returns `TLS=on, workers=2` */
export function labelOf(levels: Levels): string {
  return Object.entries(levels)
    .map(([name, level]) => `${name}=${level}`)
    .join(', ');
}

function allCombinations(vary: Plan['vary']): Levels[] {
  return Object.entries(vary).reduce<Levels[]>(
    (combinations, [name, levels]) =>
      combinations.flatMap((combination) => levels.map((level) => ({ ...combination, [name]: level }))),
    [{}],
  );
}

/** @returns whether it has all of these levels */
function hasAll(combination: Levels, levels: Levels): boolean {
  return Object.entries(levels).every(([name, level]) => combination[name] === level);
}

function sideOf(runs: MeasuredRun[], some: Levels): Omit<RunSet, 'name'> {
  const side = runs.filter(({ levels }) => hasAll(levels, some));
  return {
    results: side.flatMap(({ result }) => result ?? []),
    lost: lostAmong(side.map(({ exitCode = 0 }) => exitCode)),
  };
}
