/** Applies the causal graph to the findings of a run. */
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { CAUSES, MOMENTARY } from './causes.ts';
import type { Measured } from './check.ts';

/** Stages of a run in the order of time; `messages` is the time in which connections send them. */
const WINDOWS = ['ramp', 'hold', 'messages', 'broadcasts', 'disconnect'];

/** @returns codes of the other findings that this one explains */
export function explainedBy(
  cause: Finding,
  findings: readonly Finding[],
  result: Measured,
  measurements: Measurements,
): string[] {
  const edges = CAUSES[cause.code as FindingCode] ?? [];
  return findings
    .filter((effect) =>
      edges.some(
        ({ effects, holds }) =>
          effects.includes(effect.code as FindingCode) &&
          isNotLater(cause, effect) &&
          (holds?.({ cause, effect, result, measurements }) ?? true),
      ),
    )
    .map(({ code }) => code);
}

/** A finding without a window is about the whole run. */
function isNotLater(cause: Finding, effect: Finding): boolean {
  if (cause.window === undefined || effect.window === undefined) return true;
  if (MOMENTARY.includes(cause.code as FindingCode)) return cause.window === effect.window;
  return WINDOWS.indexOf(cause.window) <= WINDOWS.indexOf(effect.window);
}
