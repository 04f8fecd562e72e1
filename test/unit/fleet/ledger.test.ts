import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { decodeHistogram } from '../../../protocol/histogram.ts';
import { NO_COPIES } from '../../../protocol/receipt-columns.ts';

const ROOM = 'capacity';

function ledgerOf(members: number): Ledger {
  const ledger = new Ledger();
  for (let slot = 0; slot < members; slot++) ledger.members.joined(slot, ROOM, slot % 2 ? 'w1' : 'w0', 100);
  return ledger;
}

const order = (seq: number, sentAtUs = 1000, intendedAtUs = sentAtUs) => ({
  ...{ seq, room: ROOM, worker: 'w0', sentAtUs, intendedAtUs },
});

test('a broadcast that reached everybody has no losses, and its latencies are exact', () => {
  const ledger = ledgerOf(4);
  for (let slot = 0; slot < 4; slot++) ledger.receive(slot, 1, 1100 + slot * 10);
  const row = ledger.freeze(order(1));
  const { local, cross } = row.latencyUs;
  assert.deepEqual(
    { ...row, latencyUs: undefined },
    {
      seq: 1,
      ...NO_COPIES,
      expected: 4,
      received: 4,
      earlyByUs: 0,
      receivers: row.receivers,
      firstUs: 100,
      lastUs: 130,
      latencyUs: undefined,
    },
  );
  // w0 published: slots 0 and 2 are local to it.
  assert.equal(decodeHistogram(local).totalCount, 2);
  assert.equal(decodeHistogram(local).maxValue, 120);
  assert.equal(decodeHistogram(cross).maxValue, 130);
});

test('broadcasts that went to the same connections show it', () => {
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

test('a copy was lost while connected if a later broadcast arrived before the connection ended', () => {
  const ledger = ledgerOf(2);
  ledger.receive(0, 2, 2100);
  ledger.members.left(0, 2500);
  ledger.members.left(1, 2500);
  const { lostConnected, lostDisconnected } = ledger.freeze(order(1));
  assert.deepEqual([lostConnected, lostDisconnected], [1, 1]);
});

test('losses are classified by whether the connection was still open', () => {
  const ledger = ledgerOf(5);
  ledger.receive(0, 1, 1100);
  ledger.members.left(1, 1050);
  ledger.members.left(2, 1050);
  const row = ledger.freeze(order(1));
  assert.deepEqual([row.expected, row.received, row.lostConnected, row.lostDisconnected], [5, 1, 2, 2]);
});

test('who left before the send, or whose join was acknowledged after it, is not expected', () => {
  const ledger = ledgerOf(3);
  ledger.members.left(0, 900);
  ledger.members.joined(3, ROOM, 'w0', 1001);
  for (const slot of [1, 2, 3]) ledger.receive(slot, 1, 1100);
  const row = ledger.freeze(order(1));
  assert.deepEqual([row.expected, row.received, row.unexpected], [2, 2, 1]);
});

test('who gets a broadcast after a later one got it out of order; a repeat is only a repeat', () => {
  const ledger = ledgerOf(100);
  for (const slot of [0, 1, 99]) ledger.receive(slot, 2, 2100);
  for (const slot of [0, 2, 99]) ledger.receive(slot, 1, 2200);
  ledger.receive(2, 2, 2300);
  ledger.receive(0, 1, 2400);
  const [first, second] = [ledger.freeze(order(1)), ledger.freeze(order(2, 2000))];
  assert.deepEqual([first.received, first.reordered, first.duplicates], [3, 2, 1]);
  assert.deepEqual([second.received, second.reordered], [4, 0]);
});

test('repeats count as duplicates and do not make up for a loss', () => {
  const ledger = ledgerOf(2);
  for (let times = 0; times < 3; times++) ledger.receive(0, 1, 1100 + times);
  const row = ledger.freeze(order(1));
  assert.deepEqual([row.expected, row.received, row.duplicates, row.lostConnected, row.firstUs], [2, 1, 2, 1, 100]);
  assert.equal(ledger.received, 3);
  assert.equal(ledger.totals().duplicates, 2);
});

test('a receipt after the row is finalized counts as late', () => {
  const ledger = ledgerOf(2);
  ledger.receive(0, 1, 1100);
  assert.equal(ledger.freeze(order(1)).lostConnected, 1);
  ledger.receive(1, 1, 9000);
  assert.equal(ledger.totals().late, 1);
});

test('broadcasts that overlap keep their own pages', () => {
  const ledger = ledgerOf(2);
  ledger.receive(0, 1, 1100);
  ledger.receive(0, 2, 1150);
  ledger.receive(1, 1, 1200);
  ledger.receive(1, 2, 1250);
  assert.equal(ledger.freeze(order(1)).received, 2);
  assert.equal(ledger.freeze(order(2, 1050)).received, 2);
});

test('latency counts from the intended time when the send was late', () => {
  const ledger = ledgerOf(1);
  ledger.receive(0, 1, 1100);
  const row = ledger.freeze(order(1, 1000, 400));
  assert.deepEqual([row.firstUs, row.lastUs], [700, 700]);
});

test('a broadcast without receipts still expects its members', () => {
  const row = ledgerOf(3).freeze(order(7));
  assert.deepEqual([row.expected, row.received, row.lostConnected], [3, 0, 3]);
});

test('a receipt from before the send shows the clocks as apart', () => {
  const ledger = ledgerOf(1);
  ledger.receive(0, 1, 900);
  const row = ledger.freeze(order(1));
  assert.deepEqual([row.received, row.firstUs, row.early, row.earlyByUs], [1, 0, 1, 100]);
});

test('who joins, comes back or leaves between the order and the send may be counted or not', () => {
  const ledger = ledgerOf(6);
  const { members } = ledger;
  // Left before the order and after it, and came back before it and after it.
  members.left(0, 890);
  members.left(1, 910);
  for (const slot of [2, 3]) members.left(slot, 800);
  members.recovered(2, 'w0', 890);
  members.recovered(3, 'w0', 910);
  members.joined(6, ROOM, 'w0', 890);
  members.joined(7, ROOM, 'w0', 910);
  members.joined(8, ROOM, 'w0', 910);
  members.left(8, 950);
  for (const slot of [2, 3, 4, 6, 7]) ledger.receive(slot, 1, 1100);
  const row = ledger.freeze({ ...order(1), orderedAtUs: 900 });
  assert.deepEqual([row.expected, row.received, row.lostConnected, row.missed], [6, 5, 1, 0]);
  assert.deepEqual([row.justJoined, row.justLeft], [2, 2], '3 and 7; 1 and 8');
  const later = ledger.freeze({ ...order(2, 1200), orderedAtUs: 1150, previousAtUs: 900 });
  assert.deepEqual([later.justJoined, later.justLeft], [0, 2], 'which the server may not have noticed yet');
});

test('who may not have been counted is in one column: the lost and the resent have theirs', () => {
  const ledger = ledgerOf(2);
  ledger.members.joined(2, ROOM, 'w0', 910);
  ledger.members.left(2, 1050);
  ledger.members.joined(3, ROOM, 'w0', 910);
  ledger.members.left(0, 950);
  ledger.receive(0, 1, 1090);
  ledger.members.recovered(0, 'w0', 1100);
  const row = ledger.freeze({ ...order(1), orderedAtUs: 900 });
  assert.deepEqual([row.expected, row.resent, row.lostDisconnected, row.lostConnected], [4, 1, 1, 2]);
  assert.deepEqual([row.justJoined, row.justLeft], [1, 0]);
});

test('a restored session has been a member all the time; what kept a copy away is known', () => {
  const ledger = ledgerOf(4);
  for (let slot = 0; slot < 4; slot++) ledger.members.left(slot, 2000);
  ledger.members.left(0, 2500); // an attempt to come back that failed
  // Sent at 2100 while all were away: two get it again when they come back.
  for (const slot of [0, 1]) ledger.receive(slot, 2, 2900);
  for (const slot of [0, 1, 2]) assert.equal(ledger.members.recovered(slot, 'w0', 3000), true);
  for (const slot of [0, 1, 2]) ledger.receive(slot, 3, 3200);
  const meanwhile = ledger.freeze(order(2, 2100));
  assert.deepEqual([meanwhile.expected, meanwhile.received, meanwhile.missed, meanwhile.resent], [3, 2, 3, 2]);
  assert.deepEqual([meanwhile.lostConnected, meanwhile.lostDisconnected, meanwhile.firstUs], [0, 1, 800]);
  const after = ledger.freeze(order(3, 3100));
  assert.deepEqual([after.expected, after.received, after.missed, after.resent], [3, 3, 0, 0]);
  const before = ledger.freeze(order(1, 1900));
  assert.deepEqual([before.expected, before.lostConnected, before.lostDisconnected, before.missed], [4, 3, 1, 0]);
  assert.equal(ledger.members.recovered(9, 'w0', 3000), false, 'no member');
});

test('a copy is of the worker that held the connection when it came', () => {
  const ledger = ledgerOf(2);
  const copies = (seq: number, sentAtUs: number) => {
    const { latencyUs, unplaced } = ledger.freeze(order(seq, sentAtUs));
    const count = (encoded: string) => decodeHistogram(encoded).totalCount;
    return [count(latencyUs.local), count(latencyUs.cross), unplaced];
  };
  for (const [seq, atUs] of [1900, 2900, 3200, 5200].entries()) {
    if (atUs === 2900) for (const slot of [0, 1]) ledger.members.left(slot, 2000);
    if (atUs === 3200) for (const slot of [0, 1]) ledger.members.recovered(slot, 'w0', 3000);
    if (atUs === 5200) {
      ledger.members.left(0, 4000);
      ledger.members.recovered(0, '', 5000);
    }
    for (const slot of [0, 1]) ledger.receive(slot, seq + 1, atUs);
  }
  assert.deepEqual(copies(1, 1800), [1, 1, undefined]);
  assert.deepEqual(copies(2, 2100), [2, 0, undefined], 'sent again by the worker that has the session now');
  assert.deepEqual(copies(3, 3100), [2, 0, undefined]);
  assert.deepEqual(copies(4, 5100), [1, 1, true], 'a worker that nothing names');
});
