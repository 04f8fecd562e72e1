/** Computes the overall decision of a comparison, which determines the exit code of `compare` and `study`. */
import type { CommandOutcome } from '../../protocol/codes/exit-codes.ts';
import type { Comparison } from './compare.ts';
import { comparisonHeadline } from './text.ts';

/**
 * Returns the overall decision. Precedence: a worse figure, a set without a usable run, an inconclusive primary figure,
 * a better figure, no difference. `exitCodeOfOutcome` maps the decision to an exit code.
 */
export function comparisonOutcome(comparison: Comparison): Extract<CommandOutcome, object> {
  const answers = comparison.sets.slice(1).map((_, index) => comparisonHeadline(comparison, index + 1).answer);
  const has = (answer: (typeof answers)[number]) => answers.includes(answer);
  if (has('worse')) return { answer: 'worse' };
  if (comparison.sets.some(({ usable }) => usable === 0)) return { verdict: 'INVALID', outcome: 'UNKNOWN' };
  return { answer: has('inconclusive') ? 'inconclusive' : has('better') ? 'better' : 'no-difference' };
}
