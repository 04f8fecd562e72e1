/** Helpers to build the lines of a run's answer. */

import type { AnswerLine } from '../../protocol/result/answer-schema.ts';
import type { Amount } from '../../protocol/result/figure.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Interval } from '../../protocol/result/shared-schemas.ts';
import { figureByKey } from '../figures/figures.ts';
import { amount } from '../model/amount.ts';

export type ReportLine = Pick<AnswerLine, 'text' | 'figure'>;

/** Returns the amount of a figure, in the quantity that the result schema declares for its key. */
export function answerAmount(key: string, value: number | null | undefined, interval?: Interval): Amount {
  return amount(declared(key).quantity, value, interval);
}

/**
 * @param value the figure's value, or a text that replaces the value
 * @param name the figure's name; default: the title that belongs to the key
 */
export function answerFigure(
  key: string,
  value: number | null | undefined | Amount | string,
  note: string,
  name = declared(key).title,
): NonNullable<ReportLine['figure']> {
  if (typeof value === 'string') return { name, value, note };
  return { key, name, value: typeof value === 'object' && value !== null ? value : answerAmount(key, value), note };
}

/**
 * Returns the declaration of the figure with this key.
 * @throws Error if the result schema declares no such figure, which is a programming error
 */
function declared(key: string) {
  const figure = figureByKey(key);
  if (!figure) throw new Error(`no figure ${key}`);
  return figure;
}

export const NO_DELIVERY = 'this engine does not report which broadcasts arrive';

/**
 * Returns whether the run is meant to measure broadcasts. Runs that measure memory over time do not, and neither do
 * runs in which clients send the messages.
 */
export function hasBroadcasts({ delivery, messages, memory }: Result): boolean {
  if (delivery === null) return memory.overTime === null;
  const { expected, received, unexpected, outside, unknownBroadcast } = delivery;
  return messages === null || expected + received + unexpected + (outside ?? 0) + (unknownBroadcast ?? 0) > 0;
}

/**
 * Returns a line which states that a figure of the broadcasts is unknown. Returns no line if clients send the messages.
 */
export function unknownFigure({ messages }: Result, key: string, note: string, name?: string): ReportLine[] {
  return messages ? [] : [{ text: null, figure: answerFigure(key, null, note, name) }];
}
