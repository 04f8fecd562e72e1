/** Significance tests for comparisons: rank-sum test and Holm's procedure. */

/**
 * Wilcoxon's rank-sum test, exact even with ties. The p-value is the share of all divisions of the pooled values whose
 * rank sum is at least as far from the expected sum. If values are only zero or non-zero, it equals Fisher's exact
 * test.
 * @returns the two-sided p-value for equal distributions
 */
export function rankSumP(a: number[], b: number[]): number {
  const ranks = doubledRanks([...a, ...b]);
  const total = ranks.reduce((sum, rank) => sum + rank, 0);
  // Numbers of ways to choose this many values whose doubled ranks have this sum.
  const ways = Array.from({ length: a.length + 1 }, () => new Float64Array(total + 1));
  (ways[0] as Float64Array)[0] = 1;
  for (const rank of ranks) {
    for (let chosen = a.length; chosen > 0; chosen--) {
      const [to, from] = [ways[chosen], ways[chosen - 1]] as [Float64Array, Float64Array];
      for (let sum = rank; sum <= total; sum++) to[sum] = (to[sum] as number) + (from[sum - rank] as number);
    }
  }
  const expected = (total * a.length) / ranks.length;
  const observed = ranks.slice(0, a.length).reduce((sum, rank) => sum + rank, 0);
  const distance = Math.abs(observed - expected) - 1e-9;
  let [all, asFar] = [0, 0];
  for (const [sum, count] of (ways[a.length] as Float64Array).entries()) {
    all += count;
    if (Math.abs(sum - expected) >= distance) asFar += count;
  }
  return asFar / all;
}

/** Returns twice the mid-rank of each value, which is a whole number. */
function doubledRanks(values: number[]): number[] {
  return values.map((value) => {
    const below = values.filter((other) => other < value).length;
    const equal = values.filter((other) => other === value).length;
    return 2 * below + equal + 1;
  });
}

/**
 * Holm's step-down procedure (Scandinavian Journal of Statistics 6, 1979): the probability of even one false rejection among all tests is
 * at most `error`, however the tests depend on each other.
 * @param ps p-value of each test @param error of the whole family, 0 to 1 @returns for each test, whether its hypothesis is rejected
 */
export function holmRejections(ps: number[], error: number): boolean[] {
  const rejected = ps.map(() => false);
  const order = [...ps.keys()].sort((a, b) => (ps[a] as number) - (ps[b] as number));
  for (const [rank, index] of order.entries()) {
    if ((ps[index] as number) > error / (ps.length - rank)) break;
    rejected[index] = true;
  }
  return rejected;
}
