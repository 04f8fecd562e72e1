import assert from 'node:assert/strict';
import { test } from 'node:test';
import { absentSections } from '../../../plugin/result/absent.ts';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { newOwnEvent, type OwnEventMeasured } from '../../../plugin/run/measurements/own-event.ts';
import type { ReceiptTotals } from '../../../protocol/link/ledger.ts';
import { frozenBroadcast, hookConfig, measurements, NO_RECEIPTS, sent, snapshot } from '../../helpers/measurements.ts';
import { assertNames, deliveryReasons } from '../../helpers/verdict.ts';

/** Two broadcasts that three connections got. */
function ofOwnEvent(found: Partial<OwnEventMeasured> = {}, receipts: Partial<ReceiptTotals> = {}) {
  const seen = { published: 2, seen: 2, bytes: 60, latencyFrom: 'publisher' as const };
  const measured = measurements({
    ownEvent: { ...newOwnEvent('said', '$.0.id', 'run', true), ...seen, ...found },
    sent: [1, 2].map((seq) => ({ ...sent(seq, 0), room: '', expected: null })),
    frozen: [1, 2].map((seq) => frozenBroadcast(seq, [1000, 2000, 3000])),
    snapshots: [snapshot({ receipts: { ...NO_RECEIPTS, received: 6, ...receipts } })],
  });
  const delivery = deliveryFigures(measured, batchRows(measured), hookConfig());
  const latency = latencyFigures(measured);
  const reasons = deliveryReasons(delivery, latency, measured);
  return { delivery, latency, reasons, codes: reasons.map(({ code }) => code) };
}

test('what was counted, by whom it was published, and what latency counts from', () => {
  const { delivery, latency, codes } = ofOwnEvent();
  assert.deepEqual([delivery.source, delivery.event, delivery.publisher], ['own event', 'said', 'run']);
  assert.deepEqual([delivery.payloadBytes, delivery.batches[0]?.serverMembers], [60, null]);
  assert.deepEqual([latency.from, latency.localMs, latency.sendDelayMs?.count], ['publisher', null, 2]);
  assert.deepEqual(codes, []);
  assert.equal(ofOwnEvent({ publisher: 'server' }).delivery.publisher, null);
  assert.equal(ofOwnEvent({ publisher: 'server' }).latency.sendDelayMs, null);
});

test('copies of other ids are outside, and the columns add up', () => {
  const { delivery, codes } = ofOwnEvent({}, { received: 6 + 4 + 3, neverOrdered: 4, open: 3 });
  assert.deepEqual([delivery.outside, delivery.neverOrdered, delivery.frames], [7, 0, 13]);
  assert.deepEqual(codes, []);
  assert.deepEqual(ofOwnEvent({}, { received: 7 }).codes, ['ACCOUNTS_MISMATCH']);
});

test('reasons that an own event alone has', () => {
  const cases: [Partial<OwnEventMeasured>, Partial<ReceiptTotals>, string, ...(string | number)[]][] = [
    [{ example: '["said",{}]' }, { unreadable: 2 }, 'WRONG_COPIES', 2, '$.0.id', '["said",{}]'],
    [{ sentAtUnusable: '5 is no time' }, {}, 'SENT_AT_UNUSABLE', '5 is no time'],
    [{ skipped: 3, seen: 5 }, {}, 'IDS_NOT_COUNTED', '3 of 5'],
    [{ givesIds: false, published: 4 }, {}, 'BROADCASTS_NOT_SENT', '2 of 4'],
  ];
  for (const [found, receipts, code, ...details] of cases) {
    const { reasons, codes } = ofOwnEvent(found, receipts);
    assert.deepEqual(codes, [code]);
    assertNames(reasons[0]?.message, details);
  }
});

test('without a control port, the event is still there, and only the round trips are not', () => {
  const run = { engine: 'socketio-capacity', control: false, memory: true };
  const { delivery, latency, roundTrip } = absentSections({
    ...measurements(run),
    ownEvent: newOwnEvent('said', '$.0', 'run', true),
  });
  assert.deepEqual([delivery, latency, typeof roundTrip], [undefined, undefined, 'string']);
});
