/**
 * Compares the levels (values) of each varied setting with its first level, for each combination of the other settings.
 */

import { countLostRuns, type Spread } from '../../protocol/documents/series-schema.ts';
import type { LevelCombination, Study, StudyLevel, StudyPlan } from '../../protocol/documents/study-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type Comparison, compareGroups, type RunSet } from '../compare/compare.ts';
import { figureSpreads, isUsable } from '../figures/measured-figures.ts';
import { type PooledNoise, pooledNoise } from '../statistics/spread.ts';

/** A run that a study made, with its result if it has one. */
export interface StudyRun {
  levels: LevelCombination;
  /** Exit code of the run; undefined if the run is known to have completed. */
  exitCode?: number;
  result: Result | undefined;
}

type FigureNoise = ReadonlyMap<string, PooledNoise>;

/** Levels (values) of a setting that were run with the same values of the other settings. */
export interface StudyContext {
  /** Levels of the other varied settings; empty if there are none. */
  others: LevelCombination;
  /** Levels (values) of the setting that were run with `others`. The first level is the reference. */
  levels: StudyLevel[];
  /** Comparison of the runs at each level with the runs at the first level. */
  comparison: Comparison;
}

export interface StudyQuestion {
  name: string;
  levels: StudyLevel[];
  contexts: StudyContext[];
}

/** Returns every allowed combination of levels (values of the settings). The last setting varies fastest. */
export function levelCombinations({ vary, except }: Pick<StudyPlan, 'vary' | 'except'>): LevelCombination[] {
  return allCombinations(vary).filter((combination) => !except.some((levels) => hasAll(combination, levels)));
}

/** Returns the comparisons of a study, which share one error budget (probability of a false difference). */
export function studyQuestions(plan: StudyPlan, runs: StudyRun[]): StudyQuestion[] {
  const { vary } = plan;
  const planned = levelCombinations(plan);
  const varied = Object.fromEntries(Object.entries(vary).filter(([, levels]) => levels.length > 1));
  const noises = levelNoises(varied, planned, runs);
  const questions = Object.entries(varied).map(([name, all]) => {
    const { [name]: _, ...rest } = varied;
    const contexts = allCombinations(rest).flatMap((others) => {
      const levels = all.filter((level) => planned.some((one) => hasAll(one, { ...others, [name]: level })));
      if (levels.length < 2) return [];
      const sets = levels.map((level): RunSet => {
        const combination = { ...others, [name]: level };
        const levelNoise = Object.entries(combination).flatMap(
          ([one, its]) => noises.get(combinationLabel({ [one]: its })) ?? [],
        );
        return { name: combinationLabel({ [name]: level }), levelNoise, ...runSetOfLevels(runs, combination) };
      });
      return [{ others, levels, sets }];
    });
    return { name, levels: all, contexts };
  });
  const groups = questions.flatMap(({ contexts }) => contexts.map(({ sets }) => sets));
  const comparisons = compareGroups(groups, { margin: plan.detect, isStudy: true }).values();
  return questions.map(({ contexts, ...question }) => ({
    ...question,
    contexts: contexts.map(({ others, levels }) => ({
      ...{ others, levels },
      comparison: comparisons.next().value as Comparison,
    })),
  }));
}

/** Returns the figures of the runs in the format of study.json. */
export function summarizeStudy(plan: StudyPlan, runs: StudyRun[]): Pick<Study, 'combinations' | 'differences'> {
  return {
    combinations: levelCombinations(plan).map((levels) => {
      const { results } = runSetOfLevels(runs, levels);
      return { levels, usable: results.filter(isUsable).length, figures: figureSpreads(results) };
    }),
    differences: studyQuestions(plan, runs).flatMap(({ name, contexts }) =>
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

/** Returns the noise between runs of the same combination, by level and by key of the figure. */
function levelNoises(
  varied: StudyPlan['vary'],
  combinations: LevelCombination[],
  runs: StudyRun[],
): Map<string, FigureNoise> {
  const all = combinations.map((levels) => ({ levels, figures: figureSpreads(runSetOfLevels(runs, levels).results) }));
  const levels = Object.entries(varied).flatMap(([name, own]) => own.map((level) => ({ [name]: level })));
  return new Map(
    levels.flatMap((level) => {
      const having = all.filter((one) => hasAll(one.levels, level));
      // In a study with a single combination of levels, the noise is that of the combination's own runs.
      return having.length < 2
        ? []
        : [[combinationLabel(level), noiseOf(having.map(({ figures }) => figures))] as const];
    }),
  );
}

function noiseOf(combinations: Record<string, Spread>[]): FigureNoise {
  const spreads = combinations.flatMap((figures) => Object.entries(figures));
  return new Map(
    [...Map.groupBy(spreads, ([path]) => path)].flatMap(([path, own]) => {
      const noise = pooledNoise(own.map(([, spread]) => spread));
      return noise ? [[path, noise] as const] : [];
    }),
  );
}

/** Returns the name of a combination, such as `TLS=on, workers=2`. */
export function combinationLabel(levels: LevelCombination): string {
  return Object.entries(levels)
    .map(([name, level]) => `${name}=${level}`)
    .join(', ');
}

function allCombinations(vary: StudyPlan['vary']): LevelCombination[] {
  return Object.entries(vary).reduce<LevelCombination[]>(
    (combinations, [name, levels]) =>
      combinations.flatMap((combination) => levels.map((level) => ({ ...combination, [name]: level }))),
    [{}],
  );
}

/** Returns whether the combination contains all these levels (values of settings). */
function hasAll(combination: LevelCombination, levels: LevelCombination): boolean {
  return Object.entries(levels).every(([name, level]) => combination[name] === level);
}

/** Returns the runs with these levels (values of settings), as one set of a comparison. */
export function runSetOfLevels(runs: StudyRun[], some: LevelCombination): Required<Pick<RunSet, 'results' | 'lost'>> {
  const side = runs.filter(({ levels }) => hasAll(levels, some));
  return {
    results: side.flatMap(({ result }) => result ?? []),
    lost: countLostRuns(side.map(({ exitCode = 0 }) => exitCode)),
  };
}
