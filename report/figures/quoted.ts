/** Whether a figure of a result may be quoted: a slope with a doubt is in the result for the table, and for nothing else. */
import type { Slope } from '../../protocol/result/memory.ts';
import type { Result } from '../../protocol/result/result.ts';
import { DOUBT_TEXTS, whyNot } from '../statistics/straightness.ts';
import { valueAt } from './figures.ts';

const SLOPE = /^(memory\.(inService\.)?perConnectionBytes\.[^.]+)\.(?:slope|low95|high95)$/;

/** @returns why not, such as `not a straight line`; undefined where there is none */
export function whyNotQuoted(result: Result, path: string): string | undefined {
  const [, line, inService] = SLOPE.exec(path) ?? [];
  const slope = line === undefined ? undefined : (valueAt(result, line) as Slope | null | undefined);
  // In service, there is no interval to judge by.
  if (inService !== undefined) return slope?.doubt && DOUBT_TEXTS[slope.doubt];
  return slope ? whyNot(slope) : undefined;
}
