/** Figures invalidated by the run's own findings. */
import { figureAt } from '../../protocol/result/figure-paths.ts';
import type { Invalidated } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';

/** Returns the codes of the invalidating findings, by answer of the run. */
function invalidatedAnswers({ findings }: Pick<Result, 'findings'>): Map<Invalidated, string[]> {
  const found = new Map<Invalidated, string[]>();
  for (const { code, invalidates } of findings) {
    for (const answer of invalidates) found.set(answer, [...(found.get(answer) ?? []), code]);
  }
  return found;
}

/** Returns the codes of the run's findings that invalidate the figure at this path. */
export function invalidatedBy(result: Pick<Result, 'findings'>, path: string): string[] {
  const invalidated = invalidatedAnswers(result);
  return [...new Set((figureAt(path)?.figure.answers ?? []).flatMap((answer) => invalidated.get(answer) ?? []))];
}
