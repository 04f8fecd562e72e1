import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/delivery.ts';
import { copyProblems } from '../../../plugin/result/reasons/copies.ts';
import type { FrozenBroadcast, ReceiptTotals } from '../../../protocol/link/ledger.ts';
import { frozenBroadcast, hookConfig, measurements, NO_RECEIPTS, sent, snapshot } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';

/** Of a run with one broadcast to two members. */
function codes(row: Partial<FrozenBroadcast>, receipts: Partial<ReceiptTotals>, uncertaintyUs = 0): string[] {
  const measured = measurements({
    sent: [sent(1, 3)],
    frozen: [frozenBroadcast(1, [1000, 2000], row)],
    snapshots: [snapshot({ receipts: { ...NO_RECEIPTS, received: 2, ...receipts } })],
  });
  const delivery = deliveryFigures(measured, batchRows(measured), hookConfig());
  const result = perfectResult();
  const clocks = [{ worker: 'w0', offsetUs: 0, uncertaintyUs, driftUs: 0, jumpUs: 0 }];
  return [...copyProblems(measured, { ...result, delivery, latency: { ...result.latency, clocks } })].map(
    ({ code }) => code,
  );
}

describe('copies of broadcasts', () => {
  it('raise no doubt where each is received once', () => {
    assert.deepEqual(codes({}, {}), []);
  });

  it('are named by the column that they stand in', () => {
    assert.deepEqual(codes({}, { received: 3, late: 1 }), ['LATE_RECEIPTS']);
    assert.deepEqual(codes({ notMember: 1 }, { received: 3 }), ['NOT_MEMBER_RECEIPTS']);
    assert.deepEqual(codes({}, { received: 3, neverOrdered: 1 }), ['NEVER_ORDERED']);
    assert.deepEqual(codes({}, { received: 3, open: 1 }), ['NEVER_ORDERED']);
    assert.deepEqual(codes({}, { unreadable: 1 }), ['UNREADABLE_BROADCASTS']);
    assert.deepEqual(codes({ wrongSize: 1 }, { received: 3 }), ['WRONG_PAYLOADS']);
    assert.deepEqual(codes({ wrongContent: 1 }, { received: 3 }), ['WRONG_PAYLOADS']);
  });

  it('that stand in no column make the run invalid', () => {
    assert.deepEqual(codes({}, { received: 3 }), ['COPIES_MISMATCH']);
  });

  it('may come before their send by no more than the clocks may be wrong', () => {
    assert.deepEqual(codes({ early: 1, earlyByUs: 900 }, {}), []);
    assert.deepEqual(codes({ early: 1, earlyByUs: 1100 }, {}), ['RECEIVED_BEFORE_SENT']);
    assert.deepEqual(codes({ early: 1, earlyByUs: 1100 }, {}, 200), []);
  });
});
