/** The ledger's books of broadcasts by a lying server, as they stand in the result document. */
import assert from 'node:assert/strict';
import type { Fleet } from '../../plugin/fleet/fleet.ts';
import { batchRows, deliveryFigures } from '../../plugin/result/delivery.ts';
import { type Batch, RECEIPT_COUNTS } from '../../protocol/result.ts';
import type { Lies, LyingServer } from './lying-server.ts';
import { hookConfig, measurements } from './measurements.ts';
import { eventually } from './poll.ts';

/** A broadcast's pages of all fleet processes, as the result document shows them. */
export type Page = Batch;

/**
 * Sends one broadcast for each of `lies`, and closes the books when `receipts` have arrived.
 * @param firstSeq its number; the others' follow
 */
export async function ledgerRowsOf(
  fleet: Fleet,
  server: LyingServer,
  firstSeq: number,
  lies: Lies[],
  receipts: number,
): Promise<Page[]> {
  const before = fleet.status().received;
  const orders = lies.map((told, index) => {
    const seq = firstSeq + index;
    const sentAtUs = server.broadcast(seq, told);
    return { seq, room: 'capacity', sentAtUs, intendedAtUs: sentAtUs };
  });
  await eventually(`${receipts} receipts`, () => fleet.status().received - before >= receipts);
  const sent = orders.map((order) => ({ ...order, worker: 'w0', expected: server.members(), stampedAtUs: 0, via: 0 }));
  const measured = measurements({ sent, frozen: await fleet.freeze(orders) });
  const pages = batchRows(measured);
  const total = deliveryFigures(measured, pages, hookConfig());
  for (const key of RECEIPT_COUNTS) {
    const sum = pages.reduce((all, page) => all + page[key], 0);
    assert.equal(total[key], sum, `${key} of all broadcasts`);
  }
  for (const page of pages) {
    assert.equal(page.expected, page.received + page.lostConnected + page.lostDisconnected, 'cross-footing');
  }
  return pages;
}
