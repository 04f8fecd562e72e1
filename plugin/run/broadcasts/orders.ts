/** What the ledger is told of the broadcasts: when each was sent, and since when the server may have counted its members. */
import type { FreezeOrder } from '../../../protocol/link/ledger.ts';
import type { SentBroadcast } from './publish.ts';

/**
 * Each knows when the one before was ordered, whose members were counted, too.
 * @param beganAtUs in place of that for the first one
 */
export function ordersOf(sent: SentBroadcast[], beganAtUs: number): FreezeOrder[] {
  let previousAtUs = beganAtUs;
  return sent
    .toSorted((a, b) => a.seq - b.seq)
    .map(({ seq, room, worker, sentAtUs, intendedAtUs, orderedAtUs, expected }) => {
      const order = {
        ...{ seq, room, worker, sentAtUs, intendedAtUs, previousAtUs },
        ...(orderedAtUs !== undefined && { orderedAtUs }),
      };
      if (expected !== null && orderedAtUs !== undefined) previousAtUs = orderedAtUs;
      return order;
    });
}
