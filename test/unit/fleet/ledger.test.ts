import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { FirstReceipts } from '../../../plugin/fleet/process/ledger/process-sightings.ts';
import { decodeHistogram, recordedValuesUs } from '../../../protocol/base/histogram.ts';
import { NO_RECEIPT_COUNTS } from '../../../protocol/result/delivery-schema.ts';
import { ledgerOf, order, ROOM } from '../../helpers/ledger.ts';

test('the ledger reports no losses and exact latencies for a broadcast that reached every member', () => {
  const ledger = ledgerOf(4);
  for (let slot = 0; slot < 4; slot++) ledger.receive(slot, 1, 1100 + slot * 10);
  const row = ledger.freeze(order(1));
  const { local, cross } = row.latencyUs;
  assert.deepEqual(
    { ...row, latencyUs: undefined },
    {
      seq: 1,
      ...NO_RECEIPT_COUNTS,
      expected: 4,
      received: 4,
      earlyByUs: 0,
      receivers: row.receivers,
      firstUs: 100,
      lastUs: 130,
      latencyUs: undefined,
    },
  );
  assert.equal(decodeHistogram(local).totalCount, 2);
  assert.equal(decodeHistogram(local).maxValue, 120);
  assert.equal(decodeHistogram(cross).maxValue, 130);
});

test('two broadcasts have equal receiver sets if they reached the same connections', () => {
  const ledger = ledgerOf(4);
  const slots = [
    [0, 2],
    [2, 0],
    [1, 3],
    [0, 1, 2],
  ];
  for (const [index, to] of slots.entries()) for (const slot of to) ledger.receive(slot, index + 1, 4100);
  const [first, second, third, fourth] = slots.map((_, index) => ledger.freeze(order(index + 1)).receivers);
  assert.equal(first, second);
  assert.equal(new Set([first, third, fourth]).size, 3);
});

interface Case {
  what: string;
  members: number;
  /** Called before the first broadcast, which was sent at 1000, is finalized. */
  happens: (ledger: Ledger) => void;
  row: object;
  intendedAtUs?: number;
}

const receive = (ledger: Ledger, seq: number, atUs: number, ...slots: number[]) => {
  for (const slot of slots) ledger.receive(slot, seq, atUs);
};

const CASES: Case[] = [
  {
    what: 'the receipt time of a copy is the time at which its own data was read',
    members: 2,
    happens: (ledger) => {
      receive(ledger, 1, 1100, 0);
      receive(ledger, 1, 1090, 1);
    },
    row: { received: 2, firstUs: 100, lastUs: 100 },
  },
  {
    what: 'a later received broadcast proves a loss before the connection closed',
    members: 2,
    happens: (ledger) => {
      receive(ledger, 2, 2100, 0);
      for (const slot of [0, 1]) ledger.members.left(slot, 2500);
    },
    row: { lostConnected: 1, lostDisconnected: 1 },
  },
  {
    what: 'a copy in flight to a connection that its user closed is neither expected nor lost; one sent a second earlier is lost',
    members: 4,
    happens: (ledger) => {
      receive(ledger, 1, 1100, 0);
      ledger.members.left(1, 900_000, true);
      ledger.members.left(2, 900_000);
      ledger.members.left(3, 1_100_000, true);
    },
    row: { expected: 3, received: 1, lostConnected: 1, lostDisconnected: 1, justLeft: 1 },
  },
  {
    what: 'duplicates do not compensate for lost copies',
    members: 2,
    happens: (ledger) => receive(ledger, 1, 1100, 0, 0, 0),
    row: { expected: 2, received: 1, duplicates: 2, lostConnected: 1, firstUs: 100 },
  },
  {
    what: 'a first copy after a later broadcast is reordered; a duplicate is not',
    members: 100,
    happens: (ledger) => {
      receive(ledger, 2, 2100, 0, 1, 99);
      receive(ledger, 1, 2200, 0, 2, 99);
      receive(ledger, 2, 2300, 2);
      receive(ledger, 1, 2400, 0);
    },
    row: { received: 3, reordered: 2, duplicates: 1 },
  },
  {
    what: 'latency counts from the intended time if the send was late',
    members: 1,
    happens: (ledger) => receive(ledger, 1, 1100, 0),
    intendedAtUs: 400,
    row: { firstUs: 700, lastUs: 700 },
  },
];

for (const { what, members, happens, row, intendedAtUs } of CASES) {
  test(`the ledger of a broadcast: ${what}`, () => {
    const ledger = ledgerOf(members);
    happens(ledger);
    assert.partialDeepStrictEqual(ledger.freeze(order(1, 1000, intendedAtUs)), row);
  });
}

test('the ledger keeps overlapping broadcasts apart, and counts copies after the freeze as late', () => {
  const ledger = ledgerOf(2);
  for (const slot of [0, 1]) for (const seq of [1, 2]) ledger.receive(slot, seq, 1100 + slot * 100 + seq);
  assert.equal(ledger.freeze(order(1)).received, 2);
  ledger.receive(1, 1, 9000);
  assert.equal(ledger.freeze(order(2, 1050)).received, 2);
  assert.partialDeepStrictEqual(ledger.totals(), { received: 5, late: 1, duplicates: 0 });
});

test('a ledger row without receivers or timing has no times', () => {
  const figures = (change: object, receive = true) => {
    const ledger = ledgerOf(3);
    if (receive) for (const [slot, atUs] of [1100, 1200, 1150].entries()) ledger.receive(slot, 1, atUs);
    const { firstUs, lastUs, untimed, unplaced, latencyUs } = ledger.freeze({ ...order(1), ...change });
    const count = (encoded: string) => decodeHistogram(encoded).totalCount;
    return [firstUs, lastUs, count(latencyUs.local), count(latencyUs.cross), untimed, unplaced];
  };
  assert.deepEqual(figures({}), [100, 200, 2, 1, undefined, undefined]);
  assert.deepEqual(figures({}, false), [0, 0, 0, 0, undefined, undefined]);
  assert.deepEqual(figures({ latencyFromAtUs: 1050 }), [50, 150, 2, 1, undefined, undefined]);
  assert.deepEqual(figures({ latencyFromAtUs: null }), [0, 0, 0, 0, true, undefined]);
  assert.deepEqual(figures({ worker: '' }), [100, 200, 0, 3, undefined, true]);
  const emptyLedger = new Ledger();
  emptyLedger.members.joined(0, ROOM, '', 100);
  emptyLedger.receive(0, 1, 1100);
  assert.equal(
    emptyLedger.freeze({ ...order(1), worker: '' }).unplaced,
    undefined,
    'where none has a name, all are one',
  );
});

test('connections with very high slot numbers keep their receipts, their order and their joins', () => {
  const ledger = ledgerOf(2);
  for (const slot of [64, 100, 1000]) {
    ledger.members.joining(slot);
    ledger.receive(slot, 2, 2100);
    ledger.receive(slot, 1, 2200);
  }
  const { unexpected, notMember, reordered } = ledger.freeze(order(1));
  assert.deepEqual([unexpected, notMember, reordered], [3, 0, 3]);
  assert.equal(ledger.reached, 6);
});

const copy = (size: number, checksum: number) => ({
  ...{ hasSize: (bytes: number) => bytes === size, checksum: () => checksum },
  ...{ sentAt: () => undefined, bytes: () => size, otherIds: () => [] },
});

test('a copy counts as complete if its content equals the first copy’s, or if content varies', () => {
  for (const contentVaries of [false, true]) {
    const ledger = new Ledger({ count: 1, bytes: undefined, contentVaries });
    for (let slot = 0; slot < 128; slot++) ledger.receive(slot, 1, 100, copy(4, contentVaries ? slot : 7));
    const { received, unexpected, wrongSize, wrongContent, notMember } = ledger.freeze(order(1, 50));
    assert.deepEqual([received + unexpected + notMember, wrongSize, wrongContent], [128, 0, 0]);
  }
});

test('a broadcast counts as having reached a connection only with a complete first copy', () => {
  const ledger = new Ledger({ count: 3, bytes: 4 });
  assert.equal(ledger.remembers, true);
  assert.equal(ledger.reachedBy(1), 0);
  for (let slot = 0; slot < 62; slot++) ledger.receive(slot, 1, 100, copy(4, 7));
  ledger.receive(62, 1, 100, copy(5, 7));
  ledger.receive(62, 1, 100, copy(4, 8));
  ledger.receive(0, 1, 100, copy(4, 7));
  assert.deepEqual([ledger.reachedBy(1), ledger.totals().duplicates], [62, 1]);
  const { wrongSize, wrongContent, duplicates } = ledger.freeze(order(1, 50));
  assert.deepEqual([wrongSize, wrongContent, duplicates], [1, 1, 1]);
  ledger.discard(2);
  assert.equal(ledger.totals().unknownBroadcast, 0);
  ledger.receive(0, 3, 200);
  ledger.receive(0, 3, 210);
  ledger.discard(3);
  assert.equal(ledger.totals().unknownBroadcast, 2);
});

test('the ledger finds first receipts before a given time, even after some were dropped', () => {
  const receipts = new FirstReceipts(4);
  const numbers = Array.from({ length: 20 }, (_, index) => receipts.add(10 * (index + 1)));
  assert.deepEqual(
    numbers,
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  const before = [0, 165, 170, 171, 200, 201].map((atUs) => receipts.before(atUs));
  assert.deepEqual(before, [12, 16, 16, 17, 19, 20]);
});

test('the ledger counts for each connection the broadcasts that it lost while open', () => {
  const ledger = ledgerOf(100);
  for (let seq = 1; seq <= 4; seq++) {
    // Slot 0 receives nothing, slot 1 misses one broadcast, slot 2 misses two, and slot 3 closes after the second.
    for (let slot = 4; slot < 100; slot++) ledger.receive(slot, seq, 1100 * seq);
    if (seq > 1) ledger.receive(1, seq, 1100 * seq);
    if (seq > 2) ledger.receive(2, seq, 1100 * seq);
    if (seq === 1) ledger.receive(3, seq, 1100 * seq);
  }
  ledger.members.left(3, 2500);
  for (let seq = 1; seq <= 4; seq++) ledger.freeze(order(seq, 1000 * seq));
  const { lost, expected, startedUs, unstartedUs, ...counts } = ledger.totals().losses;
  assert.deepEqual(counts, { members: 100, losers: 3, receivedNone: 1 });
  const recorded = [lost, expected].map((one) => recordedValuesUs(decodeHistogram(one)));
  assert.deepEqual(recorded, [[1, 2].map((valueUs) => ({ valueUs, count: 1 })), [{ valueUs: 4, count: 3 }]]);
  const started = [startedUs, unstartedUs].map((one) => decodeHistogram(one).totalCount);
  assert.deepEqual(started, [2, 1]);
});

test('a connection that lost a copy after receiving an earlier one did not start to receive late', () => {
  const ledger = ledgerOf(2);
  for (const seq of [2, 4]) ledger.receive(0, seq, 1100 * seq);
  for (let seq = 1; seq <= 4; seq++) ledger.receive(1, seq, 1100 * seq);
  for (let seq = 1; seq <= 4; seq++) ledger.freeze(order(seq, 1000 * seq));
  assert.equal(decodeHistogram(ledger.totals().losses.startedUs).totalCount, 0);
});
