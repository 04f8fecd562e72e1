/** The numbers of the result document, as a condition names them. */
import { ANY, matches, PLACES } from '../../protocol/result/figure-paths.ts';

/** @returns dotted keys of all numbers that are not in lists: `cpu.<name>.idlePercent` */
export function numericKeys(): string[] {
  return PLACES.flatMap(({ path, type }) => (type === 'number' && !path.includes(`${ANY}.${ANY}`) ? path : []));
}

/** @returns whether the key is one of these, with any name for `<name>` */
export function isNumericKey(key: string, keys: string[]): boolean {
  return keys.some((known) => matches(known, key) !== undefined);
}
