/** The figures that a run's own findings invalidate: such a figure is no value of that run. */
import { figureAt } from '../../protocol/result/figure-paths.ts';
import type { Invalidated } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';

/** @returns by what a run answers, the codes of the findings that invalidate it */
function invalidatedAnswers({ findings }: Pick<Result, 'findings'>): Map<Invalidated, string[]> {
  const found = new Map<Invalidated, string[]>();
  for (const { code, invalidates } of findings) {
    for (const answer of invalidates) found.set(answer, [...(found.get(answer) ?? []), code]);
  }
  return found;
}

/** @returns the codes of the findings of this run that invalidate the figure at this path */
export function invalidatedBy(result: Pick<Result, 'findings'>, path: string): string[] {
  const invalidated = invalidatedAnswers(result);
  return [...new Set((figureAt(path)?.figure.answers ?? []).flatMap((answer) => invalidated.get(answer) ?? []))];
}
