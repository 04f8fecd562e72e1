/** Pages of metrics that are of one process, by two names of its host or by two paths: its memory would count twice. */
import type { TargetReading } from '../../samplers/index.ts';

/** Standstills at which two pages agree by chance: the fewer, the more exactly they do. */
const MIN_LOOKS = 3;

type Reading = NonNullable<TargetReading['reading']>;

export class SamePages {
  /** Pair → standstills so far; a pair that has differed once is left out. */
  readonly #looks = new Map<string, number>();

  /**
   * @param first all pages
   * @param second all pages again, after every one of the first readings had ended
   * @returns URLs of pairs that cannot be told apart, as soon as that is no chance
   */
  look(first: TargetReading[], second: TargetReading[]): [string, string][] {
    const found: [string, string][] = [];
    for (const [index, a] of first.entries()) {
      for (const [other, b] of first.entries()) {
        if (other <= index) continue;
        const readings = [a, b, second[index], second[other]].map((target) => target?.reading);
        // A page that does not answer tells nothing.
        if (readings.includes(undefined)) continue;
        const pair = `${index} ${other}`;
        const before = this.#looks.get(pair) ?? 0;
        const looks = Number.isFinite(before) && isOneProcess(readings as Reading[]) ? before + 1 : Number.NaN;
        this.#looks.set(pair, looks);
        if (looks >= MIN_LOOKS) found.push([a.url, b.url]);
      }
    }
    return found;
  }
}

function isOneProcess([a1, b1, a2, b2]: Reading[]): boolean {
  if (!a1 || !b1 || !a2 || !b2 || a1.identity !== b1.identity) return false;
  const names = Object.keys(a1.figures) as (keyof Reading['figures'])[];
  if (names.length !== Object.keys(b1.figures).length) return false;
  return names.every((name) => {
    const of = ({ figures }: Reading) => figures[name] ?? Number.NaN;
    const [a, b, laterA, laterB] = [of(a1), of(b1), of(a2), of(b2)];
    // What only rises was never more at the first look than at the second one, by either name.
    if (/cpu/i.test(name)) return Math.max(a, b) <= Math.min(laterA, laterB);
    if (!/rss|workingSet/.test(name)) return true;
    return Math.max(Math.min(a, laterA), Math.min(b, laterB)) <= Math.min(Math.max(a, laterA), Math.max(b, laterB));
  });
}
