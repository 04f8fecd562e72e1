/** A ledger of one room, and orders to finalize its rows. */
import { Ledger } from '../../plugin/fleet/process/ledger/ledger.ts';

export const ROOM = 'capacity';

export function ledgerOf(members: number): Ledger {
  const ledger = new Ledger();
  for (let slot = 0; slot < members; slot++) ledger.members.joined(slot, ROOM, slot % 2 ? 'w1' : 'w0', 100);
  return ledger;
}

export const order = (seq: number, sentAtUs = 1000, intendedAtUs = sentAtUs) => ({
  ...{ seq, room: ROOM, worker: 'w0', sentAtUs, intendedAtUs },
});
