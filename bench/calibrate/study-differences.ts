/**
 * Calibrates the decisions of studies on simulated studies. A simulated run is a stored run with random noise added to
 * its figures.
 */
import { join } from 'node:path';
import type { LevelCombination, StudyLevel, StudyPlan } from '../../protocol/documents/study-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { COMPARABLE_FIGURES, isCountFigure, valueAtKey } from '../../report/figures/figures.ts';
import { readResult } from '../../report/read.ts';
import { levelCombinations, type StudyRun, studyQuestions } from '../../report/study/summarize.ts';
import { type CalibrationSection, compareAtMost, type TruthComparison } from './comparison.ts';
import { randomNormal } from './coverage/coverage.ts';

const STORED = join('docs', 'studies', 'transports', 'runs', '1.json');
const NOISE = 0.03;
const NOISIER = 3;
const SLOWER = 0.25;
/** Share of runs that lose copies, in designs with faulty runs. */
const FAULTY = 0.1;
const P99 = 'latency.oneWayMs.p99';

interface Design {
  what: string;
  vary: StudyPlan['vary'];
  repeat: number;
  /** Relative standard deviation of each measured figure. */
  noiseOf?(levels: LevelCombination): number;
  isFaulty?: boolean;
  /** Relative increase of the p99 by level. */
  slowerBy?(levels: LevelCombination): number;
}

const CUBE = { a: [1, 2], b: [1, 2], c: [1, 2] };
const NOISY = (levels: LevelCombination) => (levels.a === 2 ? NOISIER * NOISE : NOISE);
const SIX: StudyLevel[] = [1, 2, 3, 4, 5, 6];
const EQUAL: Design[] = [
  ...[3, 5].flatMap((repeat) => [
    { what: '2 × 2 × 2', vary: CUBE, repeat },
    { what: '2 × 2 × 2, one level with three times the noise', vary: CUBE, repeat, noiseOf: NOISY },
    { what: 'six levels', vary: { a: SIX }, repeat },
  ]),
  { what: '2 × 2 × 2, one run in ten loses copies', vary: CUBE, repeat: 3, isFaulty: true },
];
const MAX_FALSE_PERCENT = 5;
const MAX_MISSED_PERCENT = 20;

/**
 * Simulates the studies. Takes about a second per study.
 * @param studies number of studies of each design
 * @param uniform random numbers above 0 and below 1
 */
export function studyDifferences(studies: number, uniform?: () => number): CalibrationSection {
  const base = readResult(STORED);
  const percent = (design: Design, isCount: (found: Found) => boolean) =>
    (100 *
      Array.from({ length: studies }, () => isCount(simulateStudy(base, design, uniform))).filter(Boolean).length) /
    studies;
  const equal = EQUAL.map((design): TruthComparison => {
    const what = `${design.what}, ${design.repeat} runs each: studies with a difference`;
    return compareAtMost(
      what,
      '%',
      MAX_FALSE_PERCENT,
      percent(design, ({ count }) => count > 0),
    );
  });
  const slower: Design = {
    ...{ what: '', vary: CUBE, repeat: 5 },
    slowerBy: (levels) => (levels.a === 2 ? SLOWER : 0),
  };
  return {
    title: 'Differences that a study finds',
    text:
      `${studies} simulated studies of each design, of equal settings: every measured figure of a run varies by ${100 * NOISE} %, each ` +
      `independently. At most ${MAX_FALSE_PERCENT} % of the studies may call any figure better or worse. Then the p99 of one ` +
      `level is ${100 * SLOWER} % higher: at least ${100 - MAX_MISSED_PERCENT} % must see it in all four pairs.`,
    rows: [
      ...equal,
      compareAtMost(
        `2 × 2 × 2, 5 runs each, one way p99 ${100 * SLOWER} % slower: not seen`,
        '%',
        MAX_MISSED_PERCENT,
        percent(slower, ({ slowerPairs }) => slowerPairs < 4),
      ),
    ],
  };
}

interface Found {
  /** Number of figures that are reported as better or worse, over all pairs. */
  count: number;
  /** Number of pairs whose p99 is reported as worse. */
  slowerPairs: number;
}

function simulateStudy(base: Result, { vary, repeat, ...design }: Design, uniform?: () => number): Found {
  const plan: StudyPlan = { scenario: '', vary, servers: {}, except: [], repeat, seed: 1 };
  const runs = levelCombinations(plan).flatMap((levels) =>
    Array.from({ length: repeat }, (): StudyRun => ({ levels, result: randomized(base, levels, design, uniform) })),
  );
  const figures = studyQuestions(plan, runs)
    .flatMap(({ contexts }) => contexts)
    .flatMap(({ comparison }) => comparison.figures);
  const answers = figures.flatMap(({ path, differences }) => differences.map(({ answer }) => ({ path, answer })));
  return {
    count: answers.filter(({ answer }) => answer === 'better' || answer === 'worse').length,
    slowerPairs: answers.filter(({ path, answer }) => path === P99 && answer === 'worse').length,
  };
}

function randomized(
  base: Result,
  levels: LevelCombination,
  design: Omit<Design, 'vary' | 'repeat'>,
  uniform = Math.random,
): Result {
  const { noiseOf = () => NOISE, slowerBy = () => 0, isFaulty = false } = design;
  const { memory, latency, connections, cpu, messages, redis, delivery } = base;
  const result = { ...base, ...structuredClone({ memory, latency, connections, cpu, messages, redis, delivery }) };
  for (const { path } of COMPARABLE_FIGURES.filter((figure) => !isCountFigure(figure))) {
    const at = path.split('.');
    const key = at.pop() as string;
    const parent = valueAtKey(result, at.join('.')) as Record<string, unknown> | null | undefined;
    const value = parent?.[key];
    if (!parent || typeof value !== 'number') continue;
    const factor = path === P99 ? 1 + slowerBy(levels) : 1;
    parent[key] = value * factor * (1 + noiseOf(levels) * randomNormal(() => 1 - uniform()));
  }
  if (isFaulty && delivery && result.delivery && uniform() < FAULTY) {
    result.delivery.received -= Math.ceil(100 * uniform());
  }
  return result;
}
