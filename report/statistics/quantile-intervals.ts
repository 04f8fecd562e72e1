/**
 * Confidence intervals of percentiles of clustered values. All copies of a broadcast are late together, so a thousand copies say little
 * more than one. The shape of the distribution is not assumed.
 */
import type { EstimateInterval } from './spread.ts';
import { studentT } from './student.ts';

/** Values of a cluster (such as a broadcast) with their counts, in any order. */
export type ValueCluster = { value: number; count: number }[];

const CONFIDENCE = 0.95;
const TAIL = (1 - CONFIDENCE) / 2;
/** Distance from the mode, in standard deviations, beyond which binomial probabilities are ignored. */
const NEGLIGIBLE = 40;

/**
 * Returns intervals by order statistics: the number of independent values below a quantile is binomial, so two of the sorted values enclose
 * it with a known probability. The number of independent values follows from the variation of the clusters' shares below the quantile
 * (Woodruff 1952; the effective sample size of Korn and Graubard 1998). It is the number of clusters if all values of a cluster are equal,
 * and larger otherwise.
 * @param quantiles 0 to 1
 * @returns one interval per quantile; null if so few clusters can all lie on one side by chance
 */
export function clusterIntervals(clusters: ValueCluster[], quantiles: number[]): (EstimateInterval | null)[] {
  const sorted = clusters.flat().sort((a, b) => a.value - b.value);
  const total = countOf(sorted);
  return quantiles.map((quantile) => {
    if (clusters.length < 2 || Math.max(quantile, 1 - quantile) ** clusters.length > TAIL) return null;
    const independent = effectiveSize(clusters, total, quantile, valueAt(sorted, quantile * total));
    const [low, high] = binomialRanks(independent, quantile);
    const at = (rank: number) => valueAt(sorted, ((rank - 0.5) / independent) * total);
    return { low: at(low), high: at(high) };
  });
}

/**
 * Returns the effective number of independent values. It lies between the number of clusters and the number of values.
 * If few clusters contain values above the quantile, the estimate is lowered (degrees of freedom by Satterthwaite).
 */
function effectiveSize(clusters: ValueCluster[], total: number, quantile: number, value: number): number {
  const n = clusters.length;
  const squares = clusters.map((cluster) => {
    const below = countOf(cluster.filter((one) => one.value <= value));
    return (below - quantile * countOf(cluster)) ** 2;
  });
  const sum = squares.reduce((total, square) => total + square, 0);
  if (sum === 0) return n;
  const variance = (sum * n) / (n - 1) / total ** 2;
  const showing = sum ** 2 / squares.reduce((total, square) => total + square ** 2, 0);
  const degrees = Math.min(n - 1, Math.round(showing));
  const known = (studentT(CONFIDENCE, 1000) / studentT(CONFIDENCE, degrees)) ** 2;
  return Math.floor(Math.min(total, Math.max(n, (known * quantile * (1 - quantile)) / variance)));
}

/**
 * Returns the ranks, from 1, that enclose the quantile. Each tail has half of the remaining probability. Ranks are
 * fractional, and the caller uses the nearest value.
 */
function binomialRanks(n: number, quantile: number): [low: number, high: number] {
  const deviation = Math.sqrt(n * quantile * (1 - quantile));
  const mode = Math.floor(quantile * n);
  const first = Math.max(0, Math.floor(mode - NEGLIGIBLE * deviation));
  const last = Math.min(n, Math.ceil(mode + NEGLIGIBLE * deviation));
  // Weights are relative to the mode, because absolute probabilities of many values underflow.
  const weights = new Float64Array(last - first + 1);
  weights[mode - first] = 1;
  const odds = quantile / (1 - quantile);
  for (let k = mode + 1; k <= last; k++) {
    weights[k - first] = (weights[k - 1 - first] as number) * ((n - k + 1) / k) * odds;
  }
  for (let k = mode - 1; k >= first; k--) {
    weights[k - first] = (weights[k + 1 - first] as number) * ((k + 1) / (n - k) / odds);
  }
  const tail = TAIL * weights.reduce((sum, weight) => sum + weight, 0);
  return [first + stepsTo(tail, weights), last + 1 - stepsTo(tail, weights.reverse())];
}

/** Returns how many weights add up to `sum`, including a fraction of the last weight. */
function stepsTo(sum: number, weights: Float64Array): number {
  let steps = 0;
  let rest = sum;
  while ((weights[steps] as number) <= rest) rest -= weights[steps++] as number;
  return steps + rest / (weights[steps] as number);
}

/** Returns the value at which the cumulative count reaches `rank`. */
function valueAt(sorted: ValueCluster, rank: number): number {
  let below = 0;
  for (const { value, count } of sorted) {
    below += count;
    if (below >= rank) return value;
  }
  return sorted.at(-1)?.value ?? Number.NaN;
}

function countOf(cluster: ValueCluster): number {
  return cluster.reduce((sum, { count }) => sum + count, 0);
}
