import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withLostMembers } from '../../../plugin/run/broadcasts/lost-members.ts';
import { frozenBroadcast, measurements, sent } from '../../helpers/measurements.ts';

const HERE = [10, 20, 30];

/** Of a host that is gone, and had so many connections. */
function gone(seq: number, connections: number) {
  return frozenBroadcast(seq, [], { expected: connections, lostDisconnected: connections, assumed: true });
}

/** The probe is a member, too. @returns what was expected of whom, in the order of the rows */
function expectedOf(rows: ReturnType<typeof frozenBroadcast>[], members: (number | null)[]): number[] {
  const broadcasts = members.map((count, index) => ({ ...sent(index + 1, 0), expected: count && count + 1 }));
  const bounded = withLostMembers(rows, measurements({ sent: broadcasts, receiversRoom: 'capacity' }));
  for (const { expected, received, lostDisconnected } of bounded) assert.equal(expected, received + lostDisconnected);
  return bounded.map(({ expected }) => expected);
}

test('of a host that is gone, who left before a broadcast was no member of it', () => {
  const rows = [frozenBroadcast(1, HERE), gone(1, 5), frozenBroadcast(2, HERE), gone(2, 5)];
  assert.deepEqual(expectedOf(rows, [8, 3]), [3, 5, 3, 0]);
});

test('and a broadcast to one of several rooms is not for all of its connections', () => {
  assert.deepEqual(expectedOf([frozenBroadcast(1, HERE), gone(1, 50)], [13]), [3, 10]);
});

test('several engines have no more members together than the server counted; others joined the room', () => {
  assert.deepEqual(expectedOf([gone(1, 5), frozenBroadcast(1, HERE), gone(1, 5)], [10]), [5, 3, 2]);
  assert.deepEqual(expectedOf([frozenBroadcast(1, HERE), gone(1, 5)], [20]), [3, 5]);
});

test('where nobody counted, all of them may have been members', () => {
  assert.deepEqual(expectedOf([frozenBroadcast(1, HERE), gone(1, 5)], [null]), [3, 5]);
});
