/**
 * Confidence intervals of percentiles whose values come in clusters: all copies of a broadcast are late together, so that
 * a thousand of them tell little more than one. Whole clusters are resampled, never single values.
 */
import { studentT } from './student.ts';

/** Values and how often each occurs, in any order. */
export type Cluster = { value: number; count: number }[];

export interface Interval {
  low: number;
  high: number;
}

const CONFIDENCE = 0.95;
const RESAMPLES = 2000;
/** Any will do; a fixed one gives the same figures for the same values. */
const SEED = 1;

/**
 * @param quantiles 0 to 1
 * @returns one interval per quantile; null where there are so few clusters that all of them may lie below it by chance
 */
export function clusterIntervals(clusters: Cluster[], quantiles: number[]): (Interval | null)[] {
  const n = clusters.length;
  const tail = (1 - CONFIDENCE) / 2;
  const carried = quantiles.map((quantile) => n > 1 && Math.max(quantile, 1 - quantile) ** n <= tail);
  if (!carried.includes(true)) return quantiles.map(() => null);
  const resampled = resamples(clusters, quantiles);
  // Few clusters vary less than what they were drawn from: the percentiles are taken further out, as Student's t is
  // (Hesterberg 2015, "expanded percentile intervals").
  const share = normalBelow(-Math.sqrt(n / (n - 1)) * studentT(CONFIDENCE, n - 1));
  const out = Math.floor(share * RESAMPLES);
  return resampled.map((values, index) => {
    if (!carried[index]) return null;
    values.sort();
    return { low: values[out] as number, high: values[RESAMPLES - 1 - out] as number };
  });
}

/** @returns each quantile's value in each of the resamples */
function resamples(clusters: Cluster[], quantiles: number[]): Float64Array[] {
  const random = randomFrom(SEED);
  const values = Float64Array.from(new Set(clusters.flatMap((cluster) => cluster.map(({ value }) => value)))).sort();
  const places = new Map(Array.from(values, (value, place) => [value, place]));
  const counted = clusters.map((cluster) => ({
    places: Int32Array.from(cluster, ({ value }) => places.get(value) as number),
    counts: Float64Array.from(cluster, ({ count }) => count),
  }));
  const found = quantiles.map(() => new Float64Array(RESAMPLES));
  const totals = new Float64Array(values.length);
  for (let resample = 0; resample < RESAMPLES; resample++) {
    totals.fill(0);
    let total = 0;
    for (let draw = 0; draw < counted.length; draw++) {
      const { places, counts } = counted[Math.floor(random() * counted.length)] as (typeof counted)[number];
      for (let index = 0; index < places.length; index++) {
        const count = counts[index] as number;
        totals[places[index] as number] = (totals[places[index] as number] as number) + count;
        total += count;
      }
    }
    quantiles.forEach((quantile, index) => {
      (found[index] as Float64Array)[resample] = values[placeOf(totals, quantile * total)] as number;
    });
  }
  return found;
}

/** @returns where the running total reaches `rank` */
function placeOf(totals: Float64Array, rank: number): number {
  let below = 0;
  for (let place = 0; place < totals.length; place++) {
    below += totals[place] as number;
    if (below >= rank) return place;
  }
  return totals.length - 1;
}

/** The standard normal distribution function, to 1e-7 (Abramowitz & Stegun 26.2.17). */
function normalBelow(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const beyond = (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * series;
  return z < 0 ? beyond : 1 - beyond;
}

/** mulberry32: 0 to 1, the same sequence for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
