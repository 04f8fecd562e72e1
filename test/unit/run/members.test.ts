/** Who is a member of the room beside those that the ledgers know: the run's own receivers, and a host that is gone. */
import assert from 'node:assert/strict';
import { it, test } from 'node:test';
import { withLostMembers } from '../../../plugin/run/broadcasts/ledger.ts';
import { endedMeanwhile } from '../../../plugin/run/receivers/other-receivers.ts';
import { column } from '../../helpers/columns.ts';
import { frozenBroadcast, measurements, sent } from '../../helpers/measurements.ts';

interface Left {
  probeLeftAtUs?: number;
  probeReceivedAtUs?: number;
  sentinelLeftAtUs?: number;
  room?: string;
}

/** A broadcast is ordered at 100 and sent at 300; the sentinel gets it at 301. How many may be counted beside the members. */
const OWN: [what: string, left: Left, before: number, after: number][] = [
  ['stay', {}, 0, 0],
  ['ended before the order', { probeLeftAtUs: 99, sentinelLeftAtUs: 99 }, 0, 0],
  ['end between the order and the send: may have been counted', { probeLeftAtUs: 100, sentinelLeftAtUs: 299 }, 2, 0],
  ['end then, and are in another room', { probeLeftAtUs: 200, sentinelLeftAtUs: 200, room: 'capacity:1' }, 0, 0],
  ['end after the send: may not have been counted', { probeLeftAtUs: 310 }, 0, 1],
  ['end after the send, with an earlier copy', { probeLeftAtUs: 310, probeReceivedAtUs: 50 }, 0, 1],
  ['end after the send, with the copy', { probeLeftAtUs: 310, probeReceivedAtUs: 305, sentinelLeftAtUs: 310 }, 0, 0],
];
for (const [what, left, before, after] of OWN) {
  it(`own receivers that ${what}`, () => {
    const { room = 'capacity', probeLeftAtUs, probeReceivedAtUs, sentinelLeftAtUs: leftAtUs } = left;
    const receivedAtUs = new Map([50, 301].map((us, index) => [index + 1, us]));
    const sentinel = { worker: 'w0', joinedAtUs: 1, leftAtUs, receivedAtUs };
    const receivers = { receiversRoom: 'capacity', probeLeftAtUs, probeReceivedAtUs, sentinel };
    const broadcast = { expected: 10, room, orderedAtUs: 100, sentAtUs: 300 };
    assert.deepEqual(endedMeanwhile(broadcast, receivers), { before, after });
  });
}

const here = (seq: number) => frozenBroadcast(seq, [10, 20, 30]);
/** Of a host that is gone, and had so many connections. */
const gone = (seq: number, connections: number) =>
  frozenBroadcast(seq, [], { expected: connections, lostDisconnected: connections, assumed: true });

/** Rows, members that the server counted for each broadcast, and what is expected in each row. */
const LOST: [what: string, rows: ReturnType<typeof here>[], counted: (number | null)[], expected: number[]][] = [
  ['left before a broadcast: no member of it', [here(1), gone(1, 5), here(2), gone(2, 5)], [8, 3], [3, 5, 3, 0]],
  ['are in several rooms: not all are members', [here(1), gone(1, 50)], [13], [3, 10]],
  ['are of several engines: together as many as counted', [gone(1, 5), here(1), gone(1, 5)], [10], [5, 3, 2]],
  ['are not all members: others joined the room', [here(1), gone(1, 5)], [20], [3, 5]],
  ['were counted by nobody: all may be members', [here(1), gone(1, 5)], [null], [3, 5]],
];
for (const [what, rows, counted, expected] of LOST) {
  test(`connections of a lost host ${what}`, () => {
    // The probe is a member, too.
    const broadcasts = counted.map((count, index) => ({ ...sent(index + 1, 0), expected: count && count + 1 }));
    const bounded = withLostMembers(rows, measurements({ sent: broadcasts, receiversRoom: 'capacity' }));
    assert.deepEqual(column(bounded, 'expected'), expected);
    for (const row of bounded) assert.equal(row.expected, row.received + row.lostDisconnected);
  });
}
