/** Tests the expected receivers of a broadcast, with joins, drops and reconnects around its order and its send. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { decodeHistogram } from '../../../protocol/base/histogram.ts';
import { ledgerOf, order, ROOM } from '../../helpers/ledger.ts';

test('the ledger marks connections as uncertain members if they join or leave just before a send', () => {
  const ledger = ledgerOf(6);
  const { members } = ledger;
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

test('the ledger has separate columns for uncertain members, lost copies and resent copies', () => {
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

test('a restored session counts as a member throughout, and the copies that it missed are counted', () => {
  const ledger = ledgerOf(4);
  for (let slot = 0; slot < 4; slot++) ledger.members.left(slot, 2000);
  for (const slot of [0, 2]) ledger.members.left(slot, 2500); // Simulates a failed attempt to reconnect.
  // Broadcast 2 was sent at 2100 while all were disconnected. Two members receive it again when they reconnect.
  for (const slot of [0, 1]) ledger.receive(slot, 2, 2900);
  for (const slot of [0, 1, 2]) assert.equal(ledger.members.recovered(slot, 'w0', 3000), true);
  for (const slot of [0, 1, 2]) ledger.receive(slot, 3, 3200);
  const duringAbsence = ledger.freeze(order(2, 2100));
  assert.deepEqual(
    [duringAbsence.expected, duringAbsence.received, duringAbsence.missed, duringAbsence.resent],
    [3, 2, 3, 2],
  );
  assert.deepEqual([duringAbsence.lostConnected, duringAbsence.lostDisconnected, duringAbsence.firstUs], [0, 1, 800]);
  const after = ledger.freeze(order(3, 3100));
  assert.deepEqual([after.expected, after.received, after.missed, after.resent], [3, 3, 0, 0]);
  const before = ledger.freeze(order(1, 1900));
  assert.deepEqual([before.expected, before.lostConnected, before.lostDisconnected, before.missed], [4, 3, 1, 0]);
  assert.equal(ledger.members.recovered(9, 'w0', 3000), false, 'no member');
});

test('a copy is attributed to the worker that held the connection when it arrived', () => {
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
  ledger.receive(1, 5, 6000);
  ledger.members.left(1, 6000);
  ledger.members.recovered(1, 'w1', 7000);
  assert.deepEqual(copies(1, 1800), [1, 1, undefined]);
  assert.deepEqual(copies(2, 2100), [2, 0, undefined], 'sent again by the worker that has the session now');
  assert.deepEqual(copies(3, 3100), [2, 0, undefined]);
  assert.deepEqual(copies(4, 5100), [1, 1, true], 'a worker that nothing names');
  assert.deepEqual(copies(5, 5900), [0, 1, undefined], 'with its end, it is of the one after');
});

/** Times of join, leave, return and receipt. The broadcast is ordered at 900 and sent at 1000. */
interface Times {
  joined?: number;
  left?: number;
  back?: number;
  leftAgain?: number;
  backAgain?: number;
  received?: number;
}

const AT_THE_VERY_MOMENT: [what: string, times: Times, columns: object][] = [
  ['stays and receives nothing', {}, { expected: 1, received: 0, lostConnected: 1 }],
  ['joins when the broadcast is sent', { joined: 1000 }, { expected: 0 }],
  ['joins after the send, and gets a copy', { joined: 1001, received: 1100 }, { expected: 0, unexpected: 1 }],
  ['joins when the broadcast is ordered', { joined: 900 }, { expected: 1, justJoined: 1 }],
  ['leaves when the broadcast is ordered', { left: 900 }, { expected: 0, justLeft: 1 }],
  ['leaves when the broadcast is sent', { left: 1000 }, { expected: 1, lostDisconnected: 1 }],
  ['drops when the broadcast is sent', { left: 1000, back: 1100 }, { missed: 1, lostDisconnected: 1, justJoined: 0 }],
  ['returns when the broadcast is sent', { left: 800, back: 1000 }, { missed: 1, lostDisconnected: 1, justJoined: 0 }],
  ['returns when the broadcast is ordered', { left: 800, back: 900 }, { missed: 0, lostConnected: 1, justJoined: 1 }],
  ['receives it after its return', { left: 950, back: 1100, received: 1100 }, { missed: 1, resent: 1, received: 1 }],
  [
    'dropped twice, the second time when the broadcast was sent',
    { left: 300, back: 400, leftAgain: 950, backAgain: 1100 },
    { missed: 1, lostDisconnected: 1 },
  ],
  [
    'dropped twice, the second time after the order',
    { left: 300, back: 400, leftAgain: 910, backAgain: 950, received: 1100 },
    { missed: 0, received: 1, justJoined: 1 },
  ],
  ['drops later', { left: 1200, back: 1300, received: 1100 }, { missed: 0, received: 1, justJoined: 0 }],
  ['receives the broadcast when it is sent', { received: 1000 }, { received: 1, early: 0, earlyByUs: 0 }],
  ['receives the broadcast before it is sent', { received: 999 }, { received: 1, early: 1, earlyByUs: 1, firstUs: 0 }],
];

for (const [what, times, columns] of AT_THE_VERY_MOMENT) {
  test(`the ledger counts a connection that ${what}`, () => {
    const ledger = new Ledger();
    const { members } = ledger;
    const { joined = 100, left, back, leftAgain, backAgain, received } = times;
    members.joined(0, ROOM, 'w0', joined);
    for (const [leftAt, backAt] of [
      [left, back],
      [leftAgain, backAgain],
    ]) {
      if (leftAt !== undefined) members.left(0, leftAt);
      if (backAt !== undefined) members.recovered(0, 'w0', backAt);
    }
    if (received !== undefined) ledger.receive(0, 1, received);
    const row: Record<string, unknown> = ledger.freeze({ ...order(1), orderedAtUs: 900 });
    assert.deepEqual(Object.fromEntries(Object.keys(columns).map((key) => [key, row[key]])), columns);
  });
}

test('a sample of room sizes contains the number of connected members in each room', () => {
  const { members } = ledgerOf(3);
  members.left(0, 10);
  members.joined(1, 'other', 'w0', 20);
  assert.deepEqual(
    new Map(members.sample(2)),
    new Map([
      [ROOM, 2],
      ['other', 1],
    ]),
  );
  assert.equal(members.sample(1).length, 1);
  const [one, other] = [new Ledger(), new Ledger()];
  const rooms = Array.from({ length: 20 }, (_, index) => `room ${index}`);
  for (const room of rooms) one.members.joined(0, room, '', 0);
  for (const room of rooms.toReversed()) other.members.joined(0, room, '', 0);
  assert.deepEqual(one.members.sample(7), other.members.sample(7), 'in whatever order they came');
});

test('a joining connection is pending until the server answers, and a member from its first join on', () => {
  const ledger = ledgerOf(2);
  const { members } = ledger;
  members.joining(2);
  members.joining(2);
  members.answered(2);
  assert.equal(members.isJoining(2), true);
  members.answered(2);
  assert.equal(members.isJoining(2), false);
  members.left(5, 100);
  members.joined(5, ROOM, 'w0', 200);
  assert.equal(members.leftAtUs(5), undefined, 'no member could leave');
  members.joined(5, ROOM, 'w0', 900);
  assert.equal(members.of(ROOM)?.get(5), 200, 'a member from its first join on');
  members.recovered(1, 'w9', 300);
  assert.equal(members.absences(1), undefined, 'it had not left');
});
