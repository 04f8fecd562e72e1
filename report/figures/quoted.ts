/** Decides whether a figure of a result can be quoted. A slope with a doubt is only for the table. */
import type { Slope } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { DOUBT_TEXTS, whyNot } from '../statistics/straightness.ts';
import { valueAt } from './figures.ts';
import { isConclusive } from './per-connection.ts';

const HEADLINE = /^memory\.perConnection\.(bytes|high95)$/;
const SLOPE = /^(memory\.(inService\.)?perConnectionBytes\.[^.]+)\.(?:slope|low95|high95)$/;

/** Returns why it cannot be quoted, such as `not a straight line`; undefined if it can. */
export function whyNotQuoted(result: Result, path: string): string | undefined {
  const cost = result.memory.perConnection;
  const [, key] = HEADLINE.exec(path) ?? [];
  if (cost && key !== undefined) {
    if (cost.isAtLeast) return 'a part of it is not known';
    return key === 'bytes' && !isConclusive(cost) ? 'its 95 % interval is wide' : undefined;
  }
  const [, line, inService] = SLOPE.exec(path) ?? [];
  const slope = line === undefined ? undefined : (valueAt(result, line) as Slope | null | undefined);
  // In service, there is no interval to check.
  if (inService !== undefined) return slope?.doubt && DOUBT_TEXTS[slope.doubt];
  return slope ? whyNot(slope) : undefined;
}
