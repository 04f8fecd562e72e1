import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/delivery.ts';
import type { FrozenBroadcast, ReceiptTotals } from '../../../protocol/link/ledger.ts';
import { column } from '../../helpers/columns.ts';
import { frozenBroadcast, hookConfig, measurements, NO_RECEIPTS, sent, snapshot } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames, deliveryReasons } from '../../helpers/verdict.ts';

type Case = [what: string, Partial<FrozenBroadcast>, Partial<ReceiptTotals>, code?: string, ...details: string[]];

/** Of a run with one broadcast to two members. */
function reasons(row: Partial<FrozenBroadcast>, receipts: Partial<ReceiptTotals>, uncertaintyUs = 0) {
  const measured = measurements({
    sent: [sent(1, 3)],
    frozen: [frozenBroadcast(1, [1000, 2000], row)],
    snapshots: [snapshot({ receipts: { ...NO_RECEIPTS, received: 2, ...receipts } })],
  });
  const clocks = [{ worker: 'w0', offsetUs: 0, uncertaintyUs, driftUs: 0, jumpUs: 0 }];
  const latency = { ...perfectResult().latency, clocks };
  return deliveryReasons(deliveryFigures(measured, batchRows(measured), hookConfig()), latency, measured);
}

describe('a copy of a broadcast', () => {
  for (const [what, row, receipts, code, ...details] of [
    ['that comes once', {}, {}],
    ['that comes twice', { duplicates: 1 }, { received: 3, duplicates: 1 }, 'WRONG_COPIES', '1 copies came twice'],
    ['that comes after the drain', {}, { received: 3, late: 1 }, 'WRONG_COPIES', 'drain'],
    ['outside of the room', { notMember: 1 }, { received: 3 }, 'WRONG_COPIES', 'room'],
    ['of a broadcast that nobody sent', {}, { received: 3, neverOrdered: 1 }, 'WRONG_COPIES', 'number'],
    ['of a broadcast whose row is open', {}, { received: 3, open: 1 }, 'WRONG_COPIES', 'number'],
    ['that cannot be read', {}, { unreadable: 1 }, 'WRONG_COPIES', 'no payload'],
    ['of another length', { wrongSize: 1 }, { received: 3 }, 'WRONG_COPIES', 'changed'],
    ['with other characters', { wrongContent: 1 }, { received: 3 }, 'WRONG_COPIES', 'changed'],
    ['in no column', {}, { received: 3 }, 'ACCOUNTS_MISMATCH', '3', '2'],
  ] as Case[]) {
    it(`${what}: ${code ?? 'nothing'}`, () => {
      const found = reasons(row, receipts);
      assert.deepEqual(column(found, 'code'), code ? [code] : []);
      assertNames(found[0]?.message, details);
    });
  }

  it('may come before its send by no more than the clocks may be wrong', () => {
    const codes = (earlyByUs: number, uncertaintyUs = 0) =>
      reasons({ early: 1, earlyByUs }, {}, uncertaintyUs).map(({ code }) => code);
    assert.deepEqual(codes(900), []);
    assert.deepEqual(codes(1100), ['IMPOSSIBLE_REPORT']);
    assert.deepEqual(codes(1100, 200), []);
  });
});
