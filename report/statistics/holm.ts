/**
 * Holm's step-down procedure (S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics
 * 6, 1979): the probability of even one false rejection among all tests is at most `error`, however the tests depend on each other.
 */

/** Returns for each test, whether its hypothesis is rejected @param ps the p-value of each test @param error of the whole family, 0 … 1 */
export function holm(ps: number[], error: number): boolean[] {
  const rejected = ps.map(() => false);
  const order = [...ps.keys()].sort((a, b) => (ps[a] as number) - (ps[b] as number));
  for (const [rank, index] of order.entries()) {
    if ((ps[index] as number) > error / (ps.length - rank)) break;
    rejected[index] = true;
  }
  return rejected;
}
