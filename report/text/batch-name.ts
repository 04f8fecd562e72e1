/** What a row of the broadcasts' tables and charts stands for. */
import type { Batch } from '../../protocol/result/delivery.ts';
import { integer } from './format.ts';

/** @returns the number of the broadcast; in long runs, those of the first and last that the row stands for */
export function batchName({ seq, broadcasts }: Pick<Batch, 'seq' | 'broadcasts'>): string {
  return broadcasts === 1 ? integer(seq) : `${integer(seq)}–${integer(seq + broadcasts - 1)}`;
}
