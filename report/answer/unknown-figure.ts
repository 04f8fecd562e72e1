import type { Result } from '../../protocol/result/result.ts';
import { figureOf, type Line } from './line.ts';

export const NO_DELIVERY = 'this engine does not report which broadcasts arrive';

/** @returns whether broadcasts are a question: not while connections come and go, or send messages instead */
export function hasBroadcasts({ delivery, messages, memory }: Result): boolean {
  if (delivery === null) return memory.overTime === null;
  const { expected, received, unexpected, outside, neverOrdered } = delivery;
  return messages === null || expected + received + unexpected + (outside ?? 0) + (neverOrdered ?? 0) > 0;
}

/** @returns a figure of broadcasts that is not known; where messages were sent instead, they are no question */
export function unknownFigure({ messages }: Result, key: string, note: string, name?: string): Line[] {
  return messages ? [] : [{ text: null, figure: figureOf(key, null, note, name) }];
}
