import type { Result } from '../../protocol/result/result.ts';
import { figureOf, type Line } from './line.ts';

export const NO_DELIVERY = 'this engine does not report which broadcasts arrive';

/** Returns whether the run asks about broadcasts. Runs over time, and runs that send messages instead, do not. */
export function hasBroadcasts({ delivery, messages, memory }: Result): boolean {
  if (delivery === null) return memory.overTime === null;
  const { expected, received, unexpected, outside, neverOrdered } = delivery;
  return messages === null || expected + received + unexpected + (outside ?? 0) + (neverOrdered ?? 0) > 0;
}

/** Returns an unknown figure of broadcasts; nothing for runs that send messages instead. */
export function unknownFigure({ messages }: Result, key: string, note: string, name?: string): Line[] {
  return messages ? [] : [{ text: null, figure: figureOf(key, null, note, name) }];
}
