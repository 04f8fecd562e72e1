/** Compares functions of the workers between two sets of runs: memory per connection, and CPU of connects and copies. */
import { MAX_LISTED_FUNCTIONS } from '../../protocol/result/places-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type CodePlaces, codePlacesOf, type FunctionPlace } from '../figures/places.ts';
import { withUnit } from '../model/amount.ts';

/**
 * Minimum difference that counts as significant, in multiples of the half-width of the 95 % interval. 99.9 % of random
 * differences are smaller. The threshold is strict, because many functions are compared.
 */
const CERTAIN = 1.68;
/** Minimum difference to show, as a share of the reference's sum over all functions. */
const LEAST_SHARE = 0.02;
const MOST_TEXTS = 5;

/**
 * Returns a text such as `per connection: +3.1 KB in session.ts:88 (keep)` for each cost that was measured in both
 * sets.
 */
export function codePlaceDifferences(reference: Result[], other: Result[]): string[] {
  const [before, after] = [reference, other].map((runs) => Map.groupBy(runs.flatMap(codePlacesOf), ({ key }) => key));
  return [...(before ?? [])].flatMap(([key, a]) => {
    const b = after?.get(key) ?? [];
    const [first] = a;
    if (!first || b.length === 0) return [];
    const texts = differencesOf(a, b)
      .filter(({ by }) => Math.abs(by) > LEAST_SHARE * first.together)
      .slice(0, MOST_TEXTS)
      .map(
        ({ by, name, place }) => `${by > 0 ? '+' : '−'}${withUnit(first.quantity, Math.abs(by))} in ${place} (${name})`,
      );
    return texts.length === 0 ? [] : [`per ${first.unit}: ${texts.join(', ')}`];
  });
}

/** Returns the significant differences between functions, the largest first. */
function differencesOf(a: CodePlaces[], b: CodePlaces[]) {
  const [before, after] = [means(a), means(b)];
  const keys = [...new Set([...after.keys(), ...before.keys()])];
  const all = keys.map((key) => {
    const [then, now] = [before.get(key) ?? smallestListed(a), after.get(key) ?? smallestListed(b)];
    const { name = '', place = '' } = after.get(key) ?? before.get(key) ?? {};
    const by = now.value - then.value;
    return { name, place, by, isCertain: Math.abs(by) > CERTAIN * Math.hypot(now.halfWidth95, then.halfWidth95) };
  });
  return all.filter(({ isCertain }) => isCertain).toSorted((one, two) => Math.abs(two.by) - Math.abs(one.by));
}

/**
 * Returns the mean cost of each function. Functions are matched without line numbers, which differ between versions.
 */
function means(runs: CodePlaces[]): Map<string, FunctionPlace> {
  const keyOf = (one: FunctionPlace) => JSON.stringify([one.package, one.name, one.place.replace(/:\d+$/, '')]);
  const sum = (all: number[]) => all.reduce((total, one) => total + one, 0);
  const groups = Map.groupBy(
    runs.flatMap(({ functions }) => functions),
    keyOf,
  );
  return new Map(
    [...groups].map(([key, all]) => {
      const value = sum(all.map((one) => one.value)) / runs.length;
      const halfWidth95 = Math.hypot(...all.map((one) => one.halfWidth95)) / runs.length;
      return [key, { ...(all[0] as FunctionPlace), value, halfWidth95 }];
    }),
  );
}

/**
 * Returns the smallest cost that the profiles list. A profile lists only the largest functions, so a function that is
 * not listed can cost as much as the last one that is.
 */
function smallestListed(runs: CodePlaces[]): { value: number; halfWidth95: number } {
  const last = runs.map(({ functions }) => (functions.length < MAX_LISTED_FUNCTIONS ? undefined : functions.at(-1)));
  return last.find((one) => one !== undefined) ?? { value: 0, halfWidth95: 0 };
}
