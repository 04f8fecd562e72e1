import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { absentSections } from '../../../plugin/result/absent.ts';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/assemble-delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/assemble-latency.ts';
import { newOwnEvent, type OwnEventMeasured } from '../../../plugin/run/measurements/own-event-measured.ts';
import type { FrozenBroadcast, ReceiptTotals } from '../../../protocol/link/ledger-messages.ts';
import { frozenBroadcast, hookConfig, measurements, NO_RECEIPTS, sent, snapshot } from '../../helpers/measurements.ts';
import { assertNames, deliveryReasons } from '../../helpers/verdict.ts';

/** Returns a run with two broadcasts that three connections received. */
function ofOwnEvent(
  found: Partial<OwnEventMeasured> = {},
  receipts: Partial<ReceiptTotals> = {},
  changes: Partial<FrozenBroadcast>[] = [{}, {}],
  unsent: ReturnType<typeof measurements>['unsent'] = [],
) {
  const seen = { published: 2, seen: 2, bytes: 60, latencyFrom: 'publisher' as const };
  const measured = measurements({
    ownEvent: { ...newOwnEvent('said', '$.0.id', 'run', true), ...seen, ...found },
    unsent,
    sent: changes.map((_, index) => ({ ...sent(index + 1, 0), room: '', expected: null })),
    frozen: changes.map((change, index) => frozenBroadcast(index + 1, [1000, 2000, 3000], change)),
    snapshots: [snapshot({ receipts: { ...NO_RECEIPTS, received: 6, ...receipts } })],
  });
  const delivery = deliveryFigures(measured, batchRows(measured), hookConfig());
  const latency = latencyFigures(measured);
  const reasons = deliveryReasons(delivery, latency, measured);
  return { delivery, latency, reasons, codes: reasons.map(({ code }) => code) };
}

test('the result for a user-defined event has its name, its publisher, and the start of its latency', () => {
  const { delivery, latency, codes } = ofOwnEvent();
  assert.deepEqual([delivery.source, delivery.event, delivery.publisher], ['own event', 'said', 'run']);
  assert.deepEqual([delivery.payloadBytes, delivery.batches[0]?.serverMembers], [60, null]);
  assert.deepEqual([latency.from, latency.localMs, latency.sendDelayMs?.count], ['publisher', null, 2]);
  assert.deepEqual(codes, []);
  assert.equal(ofOwnEvent({ publisher: 'server' }).delivery.publisher, null);
  assert.equal(ofOwnEvent({ publisher: 'server' }).latency.sendDelayMs, null);
});

test('copies with unknown ids have their own column, and the columns add up', () => {
  const { delivery, codes } = ofOwnEvent({}, { received: 6 + 4 + 3, unknownBroadcast: 4, open: 3 });
  assert.deepEqual([delivery.outside, delivery.unknownBroadcast, delivery.frames], [7, null, 13]);
  assert.deepEqual(codes, []);
  assert.deepEqual(ofOwnEvent({}, { received: 7 }).codes, ['ACCOUNTS_MISMATCH']);
});

test('delivery columns that the run does not check are null, in totals and in each broadcast', () => {
  const columns = ['reordered', 'wrongContent', 'wrongSize', 'justJoined', 'justLeft'] as const;
  const { delivery } = ofOwnEvent();
  for (const row of [delivery, ...delivery.batches]) {
    assert.deepEqual(
      columns.map((column) => row[column]),
      columns.map(() => null),
    );
    assert.equal(row.early, 0, 'the run itself knows when it sent them');
  }
  assert.deepEqual([delivery.unconfirmed, delivery.unknown], [null, null]);
  assert.equal(ofOwnEvent({ latencyFrom: 'first receipt' }).delivery.early, null);
});

test('reports publishes without an acknowledgement if the server acknowledges other publishes, or should', () => {
  const found = (missing: number, isExpected: boolean) =>
    ofOwnEvent({ unacknowledged: { asked: 41, missing, isExpected } }).reasons.map(({ code, message }) => [
      code,
      message,
    ]);
  const ofAll = (missing: number) => [
    [
      'PUBLISHES_UNACKNOWLEDGED',
      `${missing} of 41 published messages were not acknowledged before the end of the drain`,
    ],
  ];
  assert.deepEqual([found(0, true), found(41, false)], [[], []]);
  assert.deepEqual([found(40, false), found(41, true)], [ofAll(40), ofAll(41)]);
});

test('reports no event as missing that the run could not send', () => {
  const nothing = { published: 0, seen: 0 };
  const { codes } = ofOwnEvent(nothing, { received: 0 }, [], [{ seq: 1, intendedAtUs: 0, message: 'ended' }]);
  assert.deepEqual(codes, [], 'broadcasts that were not sent are no reason of the event');
  assert.deepEqual(ofOwnEvent(nothing, { received: 0 }, []).codes, ['DELIVERY_EVENT_MISSING']);
});

interface Case {
  found?: Partial<OwnEventMeasured>;
  receipts?: Partial<ReceiptTotals>;
  broadcasts?: Partial<FrozenBroadcast>[];
}

describe("an event of the user's server", () => {
  const nothing = { received: 0, lostConnected: 3 };
  const half = (receivers: number) => ({ expected: 6, received: 3, lostConnected: 3, receivers });
  const three = (make: (seq: number) => Partial<FrozenBroadcast>) => [1, 2, 3].map(make);
  const receivedNone = { receipts: { received: 0 }, broadcasts: [nothing, nothing] };
  const joined = { ...receivedNone, found: { join: 'open' } };
  const idsAtOtherPath = { idsBeside: '$.0.more' };
  const ownIds = { ...receivedNone, found: { givesIds: false, published: 4 } };
  const ofOthers = { ...receivedNone, found: { seen: 0 }, receipts: { received: 5, unknownBroadcast: 5 } };
  const unexpected = { receipts: { received: 1 }, broadcasts: [{ ...nothing, unexpected: 1 }, nothing] };
  const unreadable = { found: { example: '["said",{}]' }, receipts: { unreadable: 2 } };
  const untimed = { found: { sentAtUnusable: 'no time', untimed: 7 } };
  const eachOwn = { receipts: { received: 3 }, broadcasts: three(() => ({ received: 1, lostConnected: 2 })) };
  const sameHalf = { receipts: { received: 9 }, broadcasts: three(() => half(77)) };
  const otherHalf = { receipts: { received: 9 }, broadcasts: three(half) };

  const cases: [what: string, Case, code?: string, ...details: (string | number)[]][] = [
    ['event received by no connection', receivedNone, 'DELIVERY_EVENT_MISSING', 'said'],
    [
      'event received by no connection after joining',
      joined,
      'DELIVERY_EVENT_MISSING',
      'acknowledged `open` of 3 clients',
      'said',
    ],
    ['event with unknown ids only', ofOthers, 'DELIVERY_EVENT_MISSING', 'said', '5 copies'],
    ['event received only by a connection outside its audience', unexpected, 'COPIES_LOST'],
    ['unreadable', unreadable, 'WRONG_COPIES', 2, '$.0.id', '["said",{}]'],
    ['event with an unusable time', { found: { sentAtUnusable: '5 is no time' } }, 'SENT_AT_UNUSABLE', '5 is no time'],
    ['event partly without a time', untimed, 'SENT_AT_UNUSABLE', 'no time', '7 broadcasts'],
    ['more events than the ledgers hold', { found: { skipped: 3, seen: 5 } }, 'IDS_NOT_COUNTED', '3 of 5'],
    [
      'event with ids at another path',
      { found: { ...idsAtOtherPath, published: 4 } },
      'IDS_NOT_COUNTED',
      '$.0.more',
      '2 of 4',
    ],
    ['event with ids at another path, but all were found', { found: idsAtOtherPath }],
    ['event with ids of its own, received by no connection', ownIds, 'DELIVERY_EVENT_MISSING'],
    ['event with copies partly missing', { found: { givesIds: false, published: 4 } }, 'BROADCASTS_NOT_SENT', '2 of 4'],
    ['more copies of events than were published', { found: { givesIds: false, published: 1 } }],
    ['event with copies partly missing, as its own ids show anyway', { found: { published: 4 } }],
    [
      'event with a separate id for each copy',
      { ...eachOwn, found: { givesIds: false } },
      'IDS_NOT_SHARED',
      '3 of 3',
      '$.0.id',
    ],
    ['event received by the same half of the connections each time', sameHalf, 'AUDIENCE_DIFFERS', '3 of 3', '3 of 6'],
    ['event received by a different half of the connections each time', otherHalf, 'COPIES_LOST', '50.00 %'],
  ];
  for (const [what, { found, receipts, broadcasts }, code, ...details] of cases) {
    it(`the verdict reports ${code ?? 'nothing'} for: ${what}`, () => {
      const { reasons, codes } = ofOwnEvent(found, receipts, broadcasts);
      assert.deepEqual(codes, code ? [code] : []);
      assertNames(reasons[0]?.message, details);
    });
  }
});

describe('the reason for an unknown figure is', () => {
  const counted = { ...measurements({ engine: 'socketio-capacity', control: false, memory: true }) };
  const own = newOwnEvent('said', '$.0', 'run', true);
  const { accounts } = snapshot();
  const refused = [snapshot({ accounts: { ...accounts, asked: 5, failed: { namespace_refused: 5 } } })];
  const snapshots = [snapshot({ accounts: { ...accounts, asked: 5, alive: 5 } })];
  const aborted = { how: 'stopped', code: 'RUN_INCOMPLETE', message: 'stopped' } as const;

  it('an unknown delivery figure quotes the server that refused the publisher as its reason', () => {
    const { observations } = measurements();
    observations.note('clientsRefused', { error: 'members only', fix: '', lost: ['broadcasts'] });
    const { delivery } = absentSections({ ...counted, observations, snapshots: refused }, hookConfig());
    assert.match(delivery ?? '', /refused the run’s own clients: members only/);
  });

  it('an unknown delivery figure has the reason that no connection was open', () => {
    const { delivery, memory, cpu } = absentSections({ ...counted, ownEvent: own, snapshots: refused }, hookConfig());
    assert.deepEqual(new Set([delivery, memory, cpu]), new Set(['no connection was open']));
  });

  it('an unknown delivery figure has the reason that the run ended earlier', () => {
    const { delivery, memory } = absentSections(
      { ...counted, ownEvent: own, snapshots: snapshots, aborted },
      hookConfig(),
    );
    assert.deepEqual([delivery, memory], ['the run ended before the broadcasts', undefined]);
  });

  it('an unknown delivery figure has the reason that no option requested it', () => {
    const { delivery } = absentSections({ ...counted, snapshots: snapshots }, hookConfig());
    assert.match(delivery ?? '', /option `delivery`/);
  });
});
