import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { newOwnEvent } from '../../../plugin/run/measurements/own-event.ts';
import { Rows } from '../../../plugin/run/own-event/rows.ts';
import { columns } from '../../helpers/columns.ts';
import { frozenBroadcast, hookConfig, measurements } from '../../helpers/measurements.ts';

/** Broadcast n reaches two connections of one process after n and n + 1 ms, and none of the other process's one. */
function pages(seq: number) {
  const lost = { process: 1, expected: 1, received: 0, lostConnected: 1, firstUs: 0, lastUs: 0 };
  return [frozenBroadcast(seq, [seq * 1000, seq * 1000 + 1000]), frozenBroadcast(seq, [], lost)];
}

test('a row stands for as many broadcasts as it must, and no sum changes', () => {
  const rows = new Rows(4);
  const count = 19;
  for (let seq = 1; seq <= count; seq++) {
    rows.add([{ seq, room: '', sentAtUs: seq * 10, intendedAtUs: seq * 10 - 5 }], pages(seq));
  }
  const measured = measurements({
    ownEvent: { ...newOwnEvent('said', '$.0', 'run', true), each: rows.each },
    sent: rows.sent,
    frozen: rows.frozen,
  });
  const delivery = deliveryFigures(measured, batchRows(measured), hookConfig());
  assert.deepEqual(columns(delivery.batches, 'seq', 'broadcasts', 'expected', 'received'), {
    seq: [1, 9, 17],
    broadcasts: [8, 8, 3],
    expected: [24, 24, 9],
    received: [16, 16, 6],
  });
  const [first] = delivery.batches;
  assert.deepEqual([first?.firstMs, Math.round(first?.lastMs ?? 0), first?.sendDelayMs], [1, 9, 0.005]);
  assert.deepEqual([delivery.broadcasts, delivery.received, delivery.lostConnected], [count, count * 2, count]);
  const { oneWayMs, completionMs, sendDelayMs } = latencyFigures(measured);
  assert.deepEqual([oneWayMs?.count, completionMs?.count, sendDelayMs?.count], [count * 2, count, count]);
  assert.equal(Math.round(completionMs?.p50 ?? 0), 11, 'of each broadcast, not of each row');
});

test('a broadcast without a time has receipts and no latency; one that no process reports has neither', () => {
  const rows = new Rows();
  const orders = [1, 2].map((seq) => ({ seq, room: '', sentAtUs: 0, intendedAtUs: 0 }));
  rows.add(orders, [frozenBroadcast(1, [], { untimed: true, expected: 2, received: 2, firstUs: 0, lastUs: 0 })]);
  const measured = measurements({ sent: rows.sent, frozen: rows.frozen });
  const [untimed, unreported] = batchRows(measured);
  assert.deepEqual([untimed?.received, untimed?.firstMs, untimed?.p50Ms], [2, null, null]);
  assert.deepEqual([unreported?.expected, unreported?.lastMs], [0, null]);
  assert.equal(rows.each.completionUs.totalCount, 0);
});
