import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { absentSections } from '../../../plugin/result/absent.ts';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { newOwnEvent, type OwnEventMeasured } from '../../../plugin/run/measurements/own-event.ts';
import type { FrozenBroadcast, ReceiptTotals } from '../../../protocol/link/ledger.ts';
import { frozenBroadcast, hookConfig, measurements, NO_RECEIPTS, sent, snapshot } from '../../helpers/measurements.ts';
import { assertNames, deliveryReasons } from '../../helpers/verdict.ts';

/** Two broadcasts that three connections got. */
function ofOwnEvent(
  found: Partial<OwnEventMeasured> = {},
  receipts: Partial<ReceiptTotals> = {},
  changes: Partial<FrozenBroadcast>[] = [{}, {}],
) {
  const seen = { published: 2, seen: 2, bytes: 60, latencyFrom: 'publisher' as const };
  const measured = measurements({
    ownEvent: { ...newOwnEvent('said', '$.0.id', 'run', true), ...seen, ...found },
    sent: changes.map((_, index) => ({ ...sent(index + 1, 0), room: '', expected: null })),
    frozen: changes.map((change, index) => frozenBroadcast(index + 1, [1000, 2000, 3000], change)),
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

describe('an event of the server, and its copies', () => {
  const nothing = { received: 0, lostConnected: 3 };
  const half = (receivers: number) => ({ expected: 6, received: 3, lostConnected: 3, receivers });
  const ofThree = [1, 2, 3];
  const cases: [
    what: string,
    found: Partial<OwnEventMeasured>,
    receipts: Partial<ReceiptTotals>,
    broadcasts?: Partial<FrozenBroadcast>[] | undefined,
    code?: string,
    ...details: (string | number)[],
  ][] = [
    ['that nobody got', {}, { received: 0 }, [nothing, nothing], 'DELIVERY_EVENT_MISSING', 'said'],
    [
      'of others alone',
      { seen: 0 },
      { received: 5, neverOrdered: 5 },
      [nothing, nothing],
      ...(['DELIVERY_EVENT_MISSING', 'said', '5 copies'] as const),
    ],
    ['that only nobody was to get', {}, { received: 1 }, [{ ...nothing, lostConnected: 3, unexpected: 1 }, nothing]],
    [
      'that cannot be read',
      { example: '["said",{}]' },
      { unreadable: 2 },
      undefined,
      ...(['WRONG_COPIES', 2, '$.0.id', '["said",{}]'] as const),
    ],
    ['whose time is none', { sentAtUnusable: '5 is no time' }, {}, undefined, 'SENT_AT_UNUSABLE', '5 is no time'],
    [
      'of which some have no time',
      { sentAtUnusable: 'no time', untimed: 7 },
      {},
      undefined,
      ...(['SENT_AT_UNUSABLE', 'no time', '7 broadcasts'] as const),
    ],
    ['for which the ledgers have no room', { skipped: 3, seen: 5 }, {}, undefined, 'IDS_NOT_COUNTED', '3 of 5'],
    [
      'with more ids elsewhere, where some were not found',
      { idsBeside: '$.0.more', published: 4 },
      {},
      undefined,
      ...(['IDS_NOT_COUNTED', '$.0.more', '2 of 4'] as const),
    ],
    ['with more ids elsewhere, where all were found', { idsBeside: '$.0.more' }, {}],
    [
      'that nobody got, with ids of its own',
      { givesIds: false, published: 4 },
      { received: 0 },
      [nothing, nothing],
      'DELIVERY_EVENT_MISSING',
    ],
    ['of which some never came', { givesIds: false, published: 4 }, {}, undefined, 'BROADCASTS_NOT_SENT', '2 of 4'],
    ['of which others came, too', { givesIds: false, published: 1 }, {}],
    ['of which some never came, as its own ids show anyway', { published: 4 }, {}],
    [
      'with an id of each copy',
      { givesIds: false },
      { received: 3 },
      ofThree.map(() => ({ received: 1, lostConnected: 2 })),
      ...(['IDS_NOT_SHARED', '3 of 3', '$.0.id'] as const),
    ],
    [
      'that the same connections get each time',
      {},
      { received: 9 },
      ofThree.map(() => half(77)),
      ...(['AUDIENCE_DIFFERS', '3 of 3', '3 of 6'] as const),
    ],
    ['that others miss each time', {}, { received: 9 }, ofThree.map((seq) => half(seq))],
  ];
  for (const [what, found, receipts, broadcasts, code, ...details] of cases) {
    it(`${what}: ${code ?? 'nothing'}`, () => {
      const { reasons, codes } = ofOwnEvent(found, receipts, broadcasts);
      assert.deepEqual(codes, code ? [code] : []);
      assertNames(reasons[0]?.message, details);
    });
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
