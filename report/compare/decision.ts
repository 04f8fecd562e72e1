/** How a comparison ends as a whole: `compare` and `study` take their exit code from it. */
import type { Ended } from '../../protocol/codes/exit-codes.ts';
import type { Comparison } from './compare.ts';
import { headlineOf } from './text.ts';

/**
 * A worse figure decides first. Then come a set without a usable run, an inconclusive deciding figure, and better; otherwise there is no
 * difference.
 * @returns the decision, for which `exitCodeOf` has the exit code
 */
export function endOf(comparison: Comparison): Extract<Ended, object> {
  const answers = comparison.sets.slice(1).map((_, index) => headlineOf(comparison, index + 1).answer);
  const has = (answer: (typeof answers)[number]) => answers.includes(answer);
  if (has('worse')) return { answer: 'worse' };
  if (comparison.sets.some(({ usable }) => usable === 0)) return { verdict: 'INVALID', outcome: 'UNKNOWN' };
  return { answer: has('inconclusive') ? 'inconclusive' : has('better') ? 'better' : 'no-difference' };
}
