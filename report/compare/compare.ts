/**
 * Compares sets of runs: which figures differ by more than the noise. A set is one run, or repeats of one; the first is
 * the reference. docs/method/comparing.md explains the method.
 */
import type { Spread } from '../../protocol/documents/repeat.ts';
import type { Difference } from '../../protocol/documents/study.ts';
import type { Result } from '../../protocol/result/result.ts';
import { accuracyOf, type Described, type Figure, figureOf, isCounted, valueAt } from '../figures/figures.ts';
import { isUsable, measuredFigures } from '../figures/measured-figures.ts';
import { disturbanceOf } from '../figures/others.ts';
import { quantityOf } from '../model/amount.ts';
import {
  detectableBy,
  type Estimate,
  estimatesApart,
  intervalOf,
  meansApart,
  type PooledNoise,
  pooledApart,
  spreadOf,
} from '../statistics/spread.ts';
import { studentT } from '../statistics/student.ts';
import { type Mismatch, mismatches } from './comparability.ts';
import { countedAnswer, type Runs, usableAnswer } from './counted.ts';

export interface RunSet {
  /** For readers. */
  name: string;
  results: Result[];
  /** Further runs, which ended without a result. */
  lost?: number;
}

export interface ComparedSet extends Runs {
  name: string;
  /** One for each run that left a result; INVALID ones contribute no figures. */
  statuses: Result['verdict']['status'][];
  /** What others did in each usable run whose times, rates and CPU do not count for it. */
  disturbed: string[];
}

export type Answer = Difference['answer'];

export interface ComparedFigure extends Described {
  /** Empty of counts and shares. */
  unit: string;
  /** One per set; null where it is not known. */
  spreads: (Spread | null)[];
  /** One per set after the first. */
  differences: Difference[];
}

export interface Comparison {
  sets: ComparedSet[];
  mismatches: Mismatch[];
  figures: ComparedFigure[];
}

/** How likely an interval of a comparison may miss the true value: any of the primary figures, and any of the others. */
const PRIMARY_ERROR = 0.04;
const OTHER_ERROR = 0.01;
/**
 * Intervals within a run do not include the variation between runs. Three runs under equal conditions differed by 10 %
 * (docs/method/comparing.md), although the interval of each fitted line is below 2 %; medians of latencies deviated by 18 %, so
 * two of them may be 65 % apart.
 */
const BETWEEN_RUNS_SHARE = { repeats: 0, study: 0, fit: 0.1, broadcasts: 1 };

export function asCompared({ name, results, lost = 0 }: RunSet): ComparedSet {
  const usable = results.filter(isUsable);
  return {
    name,
    statuses: results.map(({ verdict }) => verdict.status),
    disturbed: usable.flatMap((result) => disturbanceOf(result)?.text ?? []),
    usable: usable.length,
    made: results.length + lost,
  };
}

/**
 * @param sets the reference, and the sets to compare with it
 * @param pooled of a study: noise by the figure's path, where more runs than these tell it
 */
export function compare(sets: RunSet[], pooled?: ReadonlyMap<string, PooledNoise>): Comparison {
  const usable = sets.map(({ results }) => results.filter(isUsable));
  const [reference = [], ...others] = usable;
  const compared = comparableFigures(usable, pooled !== undefined).map(({ figure, spreads }) => ({
    figure,
    spreads,
    apart: others.map((runs, index) =>
      apart(figure, [reference, runs], [spreads[0], spreads[index + 1]], pooled?.get(figure.path)),
    ),
  }));
  // Among 20 intervals of 95 % each, one would miss the true value by chance. Bonferroni: with 95 %, none of them does.
  const confidenceOf = ({ primary }: Figure) => {
    const tested = compared.filter(({ figure }) => figure.primary === primary).flatMap((row) => row.apart);
    const error = primary ? PRIMARY_ERROR : OTHER_ERROR;
    return 1 - error / Math.max(1, tested.filter((found) => found !== null).length);
  };
  const comparedSets = sets.map(asCompared);
  return {
    sets: comparedSets,
    mismatches: mismatches(sets.map(({ results }) => results)),
    figures: [
      ...usableFigure(comparedSets),
      ...compared.map((row) => ({
        ...row.figure,
        unit: quantityOf(row.figure.quantity).unit,
        spreads: row.spreads,
        differences: row.apart.map((found, index) => {
          const [a, b] = [row.spreads[0] ?? null, row.spreads[index + 1] ?? null];
          if ('faults' in row.figure) {
            return countedDifference(a, b, countedAnswer(row.figure, reference, others[index] ?? []));
          }
          return differenceOf(row.figure, a, b, found, confidenceOf(row.figure));
        }),
      })),
    ],
  };
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
      differences: others.map((set, index) =>
        countedDifference(spreads[0] ?? null, spreads[index + 1] ?? null, usableAnswer(reference, set)),
      ),
    },
  ];
}

/** Times, rates and totals, which are those of the load. */
const OF_THE_LOAD =
  /^(latency|connections\.(peak|held|connectMs|achieved)|messages\.ackMs|fault\.(backMs|peak)|redis\.usedMemory)|\.idlePercent$/;

/** What a study varies. */
const NUMBERS = new Set(['connections.peak', 'connections.held']);
const RATE = 'connections.achievedRatePerSec';

/**
 * With different numbers of connections, only costs and losses per connection are compared. A study asks for the rest, too, but
 * never takes the number of connections for a figure. Nobody is faster because more connections per second were asked for.
 */
function comparableFigures(sets: Result[][], isStudy: boolean): ReturnType<typeof measuredFigures> {
  const isOne = (key: 'target' | 'configuredRatePerSec') =>
    new Set(sets.flat().map(({ connections }) => connections[key])).size === 1;
  const [isOneLoad, isOneRate] = [isOne('target'), isOne('configuredRatePerSec')];
  const isOfLoad = (path: string) => (isStudy ? NUMBERS.has(path) : OF_THE_LOAD.test(path));
  return measuredFigures(sets).filter(
    ({ figure: { path } }) => (isOneLoad || !isOfLoad(path)) && (isOneRate || path !== RATE),
  );
}

type Apart = { estimate: Estimate; noise: 'repeats' | 'study' | 'fit' | 'broadcasts' } | null;

function apart(
  figure: Figure,
  sides: [before: Result[], after: Result[]],
  [a, b]: (Spread | null | undefined)[],
  pooled: PooledNoise | undefined,
): Apart {
  if (!a || !b || isCounted(figure)) return null;
  if (pooled) return { estimate: pooledApart(a, b, pooled), noise: 'study' };
  const noise = isOfBroadcasts(figure.path) ? 'broadcasts' : 'fit';
  const known = sides.map((runs) => runs.filter((run) => figureOf(run, figure) !== null));
  const [inA, inB] = known.map((runs) => withinRun(runs, figure));
  // What broadcasts of one run vary by is in the spread of the other side's runs.
  const means = meansApart(a, b, noise === 'fit' ? (a.runs === 1 ? inA : inB)?.error : undefined);
  if (means) return { estimate: means, noise: 'repeats' };
  return inA && inB ? { estimate: estimatesApart(inA, inB), noise } : null;
}

/**
 * A figure of a single run with its standard error, as its interval has it: a latency by its broadcasts, each of which counts once
 * because its copies are late together, and what a connection costs by the number of plateaus.
 */
function withinRun([result]: Result[], { path }: Figure): Estimate | null {
  if (!result) return null;
  const ofBroadcasts = isOfBroadcasts(path);
  const at = ofBroadcasts ? path.replace('latency.', 'latency.intervals.') : path.replace(/\.[^.]*$/, '');
  const { low95, high95 } = (valueAt(result, at) ?? {}) as Partial<Record<'low95' | 'high95', number | null>>;
  const degrees = ofBroadcasts ? (result.latency.completionMs?.count ?? 0) - 1 : result.memory.plateaus.length - 2;
  if (typeof low95 !== 'number' || typeof high95 !== 'number' || degrees < 1) return null;
  const value = valueAt(result, path) as number;
  // By the wider side: the interval of what cannot be less than nothing ends at zero.
  const reach = Math.max(high95 - value, value - low95);
  return { value, error: reach / studentT(0.95, degrees), degrees };
}

function isOfBroadcasts(path: string): boolean {
  return /^latency\.(oneWayMs|completionMs)\./.test(path);
}

function apartness(a: Spread | null, b: Spread | null): Pick<Difference, 'value' | 'share'> {
  const value = a && b ? b.mean - a.mean : null;
  return { value, share: a && value !== null && a.mean !== 0 ? value / Math.abs(a.mean) : null };
}

const NO_INTERVAL = { low: null, high: null, detectable: null };

function countedDifference(a: Spread | null, b: Spread | null, answer: Answer | null): Difference {
  const noise = answer === null ? null : 'none';
  return { answer: answer ?? 'cannot-tell', ...apartness(a, b), ...NO_INTERVAL, noise };
}

function differenceOf(
  figure: Figure,
  a: Spread | null,
  b: Spread | null,
  found: Apart,
  confidence: number,
): Difference {
  const { value, share } = apartness(a, b);
  if (!found || value === null || !a) return { answer: 'cannot-tell', value, share, ...NO_INTERVAL, noise: null };
  const { low, high } = intervalOf(found.estimate, confidence);
  const unknownSpread = BETWEEN_RUNS_SHARE[found.noise] * Math.abs(a.mean);
  const threshold = Math.max(accuracyOf(figure, a.mean), unknownSpread);
  const beyondNoise = (low > 0 || high < 0) && Math.abs(value) > threshold;
  const answer = !beyondNoise ? 'no-difference' : value > 0 === (figure.better === 'higher') ? 'better' : 'worse';
  const detectable = detectableBy(found.estimate, confidence, threshold);
  return { answer, value, share, low, high, detectable, noise: found.noise };
}
