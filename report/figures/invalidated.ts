/** The figures that a run's own findings invalidate: such a figure is no value of that run. */
import type { Answer } from '../../protocol/codes/answer-reasons.ts';
import { definitionOf } from '../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../protocol/result/result.ts';

/** The answers that a figure belongs to, by the start of its path; the first match counts. */
const ANSWERS_OF: [path: string, answers: Answer[]][] = [
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
export function answersOfFigure(path: string): Answer[] | undefined {
  return ANSWERS_OF.find(([start]) => path === start || path.startsWith(`${start}.`))?.[1];
}

/** @returns by answer, the codes of the findings that invalidate it */
function invalidatedAnswers({ verdict }: Pick<Result, 'verdict'>): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { code } of verdict.reasons) {
    for (const answer of definitionOf(code)?.invalidates ?? []) found.set(answer, [...(found.get(answer) ?? []), code]);
  }
  return found;
}

/** @returns the codes of the findings of this run that invalidate the figure at this path */
export function invalidatedBy(result: Pick<Result, 'verdict'>, path: string): string[] {
  const invalidated = invalidatedAnswers(result);
  return [...new Set((answersOfFigure(path) ?? []).flatMap((answer) => invalidated.get(answer) ?? []))];
}
