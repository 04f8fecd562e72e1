/** The figures that a run's own findings invalidate: such a figure is no value of that run. */
import type { AnsweredQuestion, Invalidated } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';

/** The answers that a figure belongs to, by the start of its path; the first match counts. */
const ANSWERS_OF: [path: string, answers: AnsweredQuestion[]][] = [
  // Also measured by the generator's clock and event loops.
  ['connections.connectMs', ['connections', 'latency']],
  ['connections', ['connections']],
  ['fault.backMs', ['connections', 'latency']],
  ['fault.peakAttemptsPerSec', ['connections']],
  ['fault.broadcasts', ['delivery']],
  // A duplicate that was received is certain, whatever else is in doubt.
  ['delivery.duplicates', []],
  ['delivery', ['delivery']],
  ['messages.ackMs', ['latency']],
  ['messages', ['delivery']],
  ['latency', ['latency']],
  ['memory', ['memory']],
  ['redis.usedMemoryBytes', ['memory']],
  ['redis.cpuMicrosecondsPerCopy', ['cpu']],
  ['redis', ['delivery']],
  ['cpu', ['cpu']],
];

/** @returns what the figure at this path answers; undefined of a path that is in no list */
export function answersOfFigure(path: string): AnsweredQuestion[] | undefined {
  return ANSWERS_OF.find(([start]) => path === start || path.startsWith(`${start}.`))?.[1];
}

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
  return [...new Set((answersOfFigure(path) ?? []).flatMap((answer) => invalidated.get(answer) ?? []))];
}
