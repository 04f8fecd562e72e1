/** The lowest limit of the deployment. */
import type { Result } from '../../protocol/result/result.ts';
import { limitName, nextLimit } from '../figures/limits.ts';
import { integer } from '../text/format.ts';
import type { Line } from './line.ts';

export function limitLines(result: Result): Line[] {
  const next = result.absent.memory === undefined ? nextLimit(result) : null;
  return next ? [{ text: `next limit: ${integer(next.max)} ${limitName(next.name)}` }] : [];
}
