/** Contribution of a question to the answer of a run. */

import type { AnswerLine } from '../../protocol/result/answer-schema.ts';
import type { Amount } from '../../protocol/result/figure.ts';
import type { Interval } from '../../protocol/result/shared-schemas.ts';
import { figureOfPath } from '../figures/figures.ts';
import { amount } from '../model/amount.ts';

export type Line = Pick<AnswerLine, 'text' | 'figure'>;

/** Returns the figure's amount in the quantity that its key declares. */
export function amountOf(key: string, value: number | null | undefined, interval?: Interval): Amount {
  return amount(declared(key).quantity, value, interval);
}

/** @param value amount or number of the figure, or a text in its place @param name the figure's name; default: the title of its key */
export function figureOf(
  key: string,
  value: number | null | undefined | Amount | string,
  note: string,
  name = declared(key).title,
): NonNullable<Line['figure']> {
  if (typeof value === 'string') return { name, value, note };
  return { key, name, value: typeof value === 'object' && value !== null ? value : amountOf(key, value), note };
}

/** Returns the declared figure. @throws Error for a key that declares no figure, which is a typing error */
function declared(key: string) {
  const figure = figureOfPath(key);
  if (!figure) throw new Error(`no figure ${key}`);
  return figure;
}
