/** What `compare` and `baseline check` share: the margin of a comparison, and the exit codes. */
import type { Command } from 'commander';
import { z } from 'zod';

/** @returns of `20%`, 0.2 */
export const shareSchema = z.string().transform((text, context): number => {
  const percent = Number(/^(\d+(?:\.\d+)?)\s*%$/.exec(text)?.[1] ?? 0);
  if (percent > 0) return percent / 100;
  context.addIssue('expected a share above 0, such as 20%');
  return z.NEVER;
});

export function withMargin(command: Command): Command {
  return command.option('--margin <share>', 'a difference within this share of the reference does not matter', '10%');
}

export const COMPARED_CODES: Record<number, string> = {
  0: 'no difference, or better: each figure that decides is within the margin, or better',
  1: 'worse: a figure is worse, or most runs are unusable, unlike those of the reference',
  2: 'refused: a result cannot be read, or there is nothing to compare with',
  4: 'INVALID: a side has no usable run',
  5: 'inconclusive: noise, too few runs, or findings of the runs leave a figure that decides open',
};
