/** The ledger's rows of broadcasts by a faulty server, as in the result document. */
import assert from 'node:assert/strict';
import type { Fleet } from '../../plugin/fleet/fleet.ts';
import { batchRows, deliveryFigures } from '../../plugin/result/delivery/delivery.ts';
import { type Batch, RECEIPT_COUNTS } from '../../protocol/result/delivery.ts';
import type { Faults, FaultyServer } from './faulty-server.ts';
import { hookConfig, measurements } from './measurements.ts';
import { eventually } from './poll.ts';

/**
 * Sends one broadcast for each of `faults`, and finalizes their rows when `receipts` have arrived.
 * @param firstSeq sequence number of the first one
 * @returns a row per broadcast, summed over all fleet processes
 */
export async function ledgerRowsOf(
  fleet: Fleet,
  server: FaultyServer,
  firstSeq: number,
  faults: Faults[],
  receipts: number,
): Promise<Batch[]> {
  const before = fleet.status().received;
  const orders = faults.map((broadcastFaults, index) => {
    const seq = firstSeq + index;
    const sentAtUs = server.broadcast(seq, broadcastFaults);
    return { seq, room: 'capacity', worker: 'w0', sentAtUs, intendedAtUs: sentAtUs };
  });
  await eventually(`${receipts} receipts`, () => fleet.status().received - before >= receipts);
  const sent = orders.map((order) => ({ ...order, expected: server.members(), stampedAtUs: 0, via: 0 }));
  const measured = measurements({ sent, frozen: await fleet.freeze(orders) });
  const rows = batchRows(measured);
  const total = deliveryFigures(measured, rows, hookConfig());
  for (const key of RECEIPT_COUNTS) {
    const sum = rows.reduce((all, row) => all + row[key], 0);
    assert.equal(total[key], sum, `${key} of all broadcasts`);
  }
  for (const row of rows) {
    assert.equal(row.expected, row.received + row.lostConnected + row.lostDisconnected, 'cross-footing');
  }
  return rows;
}
