/** How a comparison ends as a whole: `compare` and `study` take their exit code from it. */
import type { Ended } from '../../protocol/codes/exit-codes.ts';
import type { Comparison } from './compare.ts';
import { headlineOf } from './text.ts';

/**
 * Worse goes first: one figure of one set is enough. Then come a set without a usable run, an inconclusive figure that decides, and
 * better. No difference is what remains.
 * @returns the end, of which `exitCodeOf` knows the exit code
 */
export function endOf(comparison: Comparison): Extract<Ended, object> {
  const answers = comparison.sets.slice(1).map((_, index) => headlineOf(comparison, index + 1).answer);
  const has = (answer: (typeof answers)[number]) => answers.includes(answer);
  if (has('worse')) return { answer: 'worse' };
  if (comparison.sets.some(({ usable }) => usable === 0)) return { verdict: 'INVALID', outcome: 'UNKNOWN' };
  return { answer: has('inconclusive') ? 'inconclusive' : has('better') ? 'better' : 'no-difference' };
}
