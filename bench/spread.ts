/** The spread of a figure over several rounds. */
import { median } from '../report/statistics/statistics.ts';

export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** @returns undefined without values */
export function spreadOf(values: number[]): Spread | undefined {
  const middle = median(values);
  return middle === undefined ? undefined : { median: middle, min: Math.min(...values), max: Math.max(...values) };
}
