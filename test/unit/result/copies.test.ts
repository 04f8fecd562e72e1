import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/assemble-delivery.ts';
import type { SentBroadcast } from '../../../plugin/run/broadcasts/publish.ts';
import type { FrozenBroadcast, ReceiptTotals } from '../../../protocol/link/ledger-messages.ts';
import { column } from '../../helpers/columns.ts';
import { frozenBroadcast, hookConfig, measurements, NO_RECEIPTS, sent, snapshot } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames, type Change, deliveryReasons, testCases, WORKER } from '../../helpers/verdict.ts';

type Case = [what: string, Partial<FrozenBroadcast>, Partial<ReceiptTotals>, code?: string, ...details: string[]];

/** Returns the findings of a run with one broadcast to two members. */
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

describe('copies of a broadcast', () => {
  for (const [what, row, receipts, code, ...details] of [
    ['received once', {}, {}],
    ['received twice', { duplicates: 1 }, { received: 3, duplicates: 1 }, 'COPIES_DUPLICATED', '1 copies came twice'],
    ['received after the drain', {}, { received: 3, late: 1 }, 'WRONG_COPIES', 'drain'],
    ['outside the room', { notMember: 1 }, { received: 3 }, 'WRONG_COPIES', 'room'],
    [
      'belonging to a broadcast that was never sent',
      {},
      { received: 3, unknownBroadcast: 1 },
      'WRONG_COPIES',
      'number',
    ],
    ['belonging to a broadcast whose row is open', {}, { received: 3, open: 1 }, 'WRONG_COPIES', 'number'],
    ['unreadable', {}, { unreadable: 1 }, 'WRONG_COPIES', 'no payload'],
    ['changed in length', { wrongSize: 1 }, { received: 3 }, 'WRONG_COPIES', 'changed'],
    ['changed in content', { wrongContent: 1 }, { received: 3 }, 'WRONG_COPIES', 'changed'],
    ['counted in no column', {}, { received: 3 }, 'ACCOUNTS_MISMATCH', '3', '2'],
  ] as Case[]) {
    it(`the verdict reports ${code ?? 'nothing'} for copies ${what}`, () => {
      const found = reasons(row, receipts);
      assert.deepEqual(column(found, 'code'), code ? [code] : []);
      assertNames(found[0]?.message, details);
    });
  }

  it('copies duplicated for every receiver mean that the server emits twice', () => {
    const [found, ...others] = reasons({ duplicates: 2 }, { received: 4, duplicates: 2 });
    assert.deepEqual([found?.code, others], ['COPIES_DUPLICATED', []]);
    assertNames(found?.message, [
      'every copy of 1 broadcast arrived twice at every connection: the server emits twice',
    ]);
    assert.doesNotMatch(found?.fix ?? '', /own room/);
  });

  it("copies duplicated beside another publisher's broadcasts mean that the room is shared", () => {
    const found = reasons({ duplicates: 2 }, { received: 5, duplicates: 2, unknownBroadcast: 1 });
    const duplicated = found.find(({ code }) => code === 'COPIES_DUPLICATED');
    assert.equal(duplicated?.message, '2 copies came twice, beside 2 first ones');
    assert.equal(duplicated?.fix, undefined, 'that of the catalogue: a room of its own');
  });

  it('copies may arrive before their send time only within the clock uncertainty', () => {
    const codes = (earlyByUs: number, uncertaintyUs = 0) =>
      reasons({ early: 1, earlyByUs }, {}, uncertaintyUs).map(({ code }) => code);
    assert.deepEqual(codes(900), []);
    assert.deepEqual(codes(1100), ['IMPOSSIBLE_REPORT']);
    assert.deepEqual(codes(1100, 200), []);
  });
});

/** Returns broadcasts. The last `late` of them are sent `lateMs` after their planned time. */
function broadcasts(count: number, late: number, lateMs: number, intervalMs = 50): SentBroadcast[] {
  return Array.from({ length: count }, (_, index) => {
    const intendedAtUs = index * intervalMs * 1000;
    const sentAtUs = intendedAtUs + (index < count - late ? 100 : lateMs * 1000);
    return { ...sent(index + 1, 5000), intendedAtUs, sentAtUs };
  });
}

const of =
  (all: SentBroadcast[], more: Change = () => {}): Change =>
  (result, measured) => {
    measured.sent = all;
    more(result, measured);
  };

const half = broadcasts(100, 50, 744);
const fault = { atUs: half[50]?.intendedAtUs, over: undefined, workers: { before: [WORKER], after: [] } };
const inTime = broadcasts(20, 10, 260, 500).map((one) => ({ ...one, orderedAtUs: one.intendedAtUs - 200_000 }));
const ofTwo: Change = (_, measured) => {
  measured.workersAtStart = measured.workersAtEnd = [WORKER, { ...WORKER, worker: 'w1', pid: 11, instance: 'b' }];
};
const severalEach = broadcasts(20, 2, 300).map((one) => ({ ...one, broadcasts: one.seq > 18 ? 20 : 1 }));

describe('broadcasts sent later than planned', () => {
  testCases([
    [
      'broadcasts sent late in bursts',
      of(broadcasts(3000, 807, 744, 2)),
      'BROADCASTS_LATE',
      '807 of 3000',
      '50.0 ms',
      '744 ms',
      '2.00 ms',
    ],
    ['a tenth of all broadcasts sent late', of(broadcasts(200, 20, 744))],
    ['more than a tenth of all broadcasts sent late', of(broadcasts(200, 21, 744)), 'BROADCASTS_LATE', '21 of 200'],
    ['one late broadcast of three, which is no burst', of(broadcasts(3, 1, 744))],
    ['the only broadcast sent late', of(broadcasts(1, 1, 744))],
    ['two late broadcasts of two', of(broadcasts(2, 2, 744)), 'BROADCASTS_LATE', '2 of 2'],
    ['late broadcasts nearer to their own time than to the next one', of(broadcasts(20, 10, 240, 500))],
    [
      'late broadcasts nearer to the next time than to their own',
      of(broadcasts(20, 10, 260, 500)),
      'BROADCASTS_LATE',
      '10 of 20',
    ],
    ['late broadcasts ordered in time', of(inTime, ofTwo), 'BROADCASTS_LATE', '10 of 20', '460 ms', 'all workers'],
    ['late rows that stand for several broadcasts', of(severalEach), 'BROADCASTS_LATE', '40 of 58'],
    ['late broadcasts of a plan that only the server knows', of(half, ({ latency }) => (latency.sendDelayMs = null))],
    ['late broadcasts during a planned fault', of(half, (_, measured) => Object.assign(measured, { fault }))],
  ]);
});
