import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RoomShare } from '../../../plugin/fleet/process/ledger/room-share.ts';
import type { RoomPlan } from '../../../protocol/wire/rooms.ts';

const plan: RoomPlan = { name: 'capacity', count: 4, perConnection: 1, order: 'turn', seed: 1 };
const join = (id: number, payload: unknown, requestId?: number) => ({
  ...{ op: 'emit' as const, id, namespace: '/', event: 'join_room', args: [payload, 'more'] },
  ...(requestId !== undefined && { requestId }),
});

test('replaces the room of a join by the room of the connection, in the same form of payload', () => {
  const share = new RoomShare(plan, { index: 0, of: 1 }, 0);
  assert.deepEqual(share.joinsOf(join(1, 'capacity', 7)), [join(1, 'capacity:1', 7)]);
  const payload = { clientKey: 'capacity', user: 'ann' };
  assert.deepEqual(share.joinsOf(join(2, payload)), [join(2, { clientKey: 'capacity:2', user: 'ann' })]);
});

test('leaves joins of other rooms unchanged', () => {
  const share = new RoomShare(plan, { index: 0, of: 1 }, 0);
  for (const payload of ['capacity:warm-up', { clientKey: 'other' }, undefined, null]) {
    const other = join(3, payload);
    assert.deepEqual(share.joinsOf(other), [other]);
  }
});

test('a connection that joins several rooms confirms only the first join to the engine', () => {
  const share = new RoomShare({ ...plan, perConnection: 2 }, { index: 0, of: 1 }, 0);
  assert.deepEqual(share.joinsOf(join(1, 'capacity', 7)), [join(1, 'capacity:2', 7), join(1, 'capacity:3')]);
});

test('fleet processes number their connections alternately, from the first of the run on', () => {
  const roomOf = (id: number, index: number) =>
    new RoomShare(plan, { index, of: 2 }, 100).joinsOf(join(id, 'capacity'))[0]?.args[0];
  const rooms = [roomOf(100, 0), roomOf(100, 1), roomOf(101, 0), roomOf(101, 1)];
  assert.deepEqual(rooms, ['capacity:0', 'capacity:1', 'capacity:2', 'capacity:3']);
});
