/**
 * Figures that are counted: connections and copies that are missing. They have no measurement error, so that a single run
 * is enough to be worse than another.
 */
import type { Result } from '../../protocol/result/result.ts';

/** By the figure's path: how many connections or copies it says are missing, or too many; null where it was not counted. */
const FAULTS: Record<string, (result: Result) => number | null> = {
  'connections.peak': ({ connections: { target, peak } }) => Math.max(0, target - peak),
  'connections.failed': ({ connections: { failed } }) => failed,
  'delivery.coverage': ({ delivery }) => delivery && delivery.expected - delivery.received,
  'delivery.duplicates': ({ delivery }) => delivery?.duplicates ?? null,
};

/**
 * One side is worse if it has more faults on average than the other's runs allow for: the most that one of them had, as
 * much again as they differ among themselves, and twice the square root of that most, by which counts vary anyway. Where
 * no run had a fault, the first one counts.
 * @returns of `after` against `before`; null if one side was not counted, or the figure is not of this kind
 */
export function countedAnswer(
  path: string,
  before: Result[],
  after: Result[],
): 'better' | 'worse' | 'no-difference' | null {
  const faultsIn = FAULTS[path];
  if (!faultsIn) return null;
  const [a, b] = [before, after].map((runs) => runs.flatMap((run) => faultsIn(run) ?? [])) as [number[], number[]];
  if (a.length === 0 || b.length === 0) return null;
  if (mean(b) > allowance(a)) return 'worse';
  return mean(a) > allowance(b) ? 'better' : 'no-difference';
}

function allowance(faults: number[]): number {
  const most = Math.max(...faults);
  return most + (most - Math.min(...faults)) + 2 * Math.sqrt(most);
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
