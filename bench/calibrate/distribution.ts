/** Percentiles of what is known one by one, by sorting: no histogram, so that the product's can be compared with it. */

export interface Distribution {
  count: number;
  p50: number;
  p99: number;
  max: number;
}

/** @returns the smallest value that at least this share of all does not exceed; NaN of nothing */
export function distributionOf(values: number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}
