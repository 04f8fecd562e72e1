/** Keys of the result document that conditions can name. */
import { ANY, matches, PLACES } from '../../protocol/result/figure-paths.ts';

/** Returns the dotted keys of all numbers that are not in lists: `cpu.<name>.idlePercent`. */
export function numericKeys(): string[] {
  return PLACES.flatMap(({ path, type }) => (type === 'number' && !path.includes(`${ANY}.${ANY}`) ? path : []));
}

/** Returns whether the key is one of these, with any name for `<name>`. */
export function isNumericKey(key: string, keys: string[]): boolean {
  return keys.some((known) => matches(known, key) !== undefined);
}
