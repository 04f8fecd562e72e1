/** Whether a figure of a result may be quoted: a slope with a doubt is in the result for the table, and for nothing else. */
import type { Slope } from '../../protocol/result/memory.ts';
import type { Result } from '../../protocol/result/result.ts';
import { DOUBT_TEXTS } from '../statistics/straightness.ts';
import { valueAt } from './figures.ts';

const SLOPE = /^(memory\.(?:inService\.)?perConnectionBytes\.[^.]+)\.(?:slope|low95|high95)$/;

/** @returns the doubt, such as `not a straight line`; undefined where there is none */
export function whyNotQuoted(result: Result, path: string): string | undefined {
  const line = SLOPE.exec(path)?.[1];
  const doubt = line === undefined ? undefined : (valueAt(result, line) as Slope | null | undefined)?.doubt;
  return doubt && DOUBT_TEXTS[doubt];
}
