import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  broadcastDestination,
  plannedRoomSizes,
  type RoomPlan,
  roomName,
  roomsOfConnection,
} from '../../../protocol/wire/rooms.ts';

const plan = (changes: Partial<RoomPlan> = {}): RoomPlan => ({
  ...{ name: 'capacity', count: 10, perConnection: 1, order: 'turn', seed: 1 },
  ...changes,
});

test('a single room has the plan’s name, and several rooms have numbers', () => {
  assert.equal(roomName(plan({ count: 1 }), 0), 'capacity');
  assert.equal(roomName(plan(), 3), 'capacity:3');
});

test('connections are spread evenly over rooms, and a connection joins no room twice', () => {
  for (const [count = 0, perConnection = 0] of [
    [1, 1],
    [10, 1],
    [10, 3],
    [10, 10],
    [1000, 7],
  ]) {
    const rooms = plan({ count, perConnection });
    assert.deepEqual(plannedRoomSizes(rooms, count * 6), Array(count).fill(perConnection * 6));
    for (let connection = 0; connection < count * 6; connection++) {
      assert.equal(new Set(roomsOfConnection(rooms, connection)).size, perConnection);
    }
  }
});

test('each connection has a separate room if there are as many rooms as connections', () => {
  const rooms = Array.from({ length: 500 }, (_, connection) => roomsOfConnection(plan({ count: 500 }), connection)[0]);
  assert.equal(new Set(rooms).size, 500);
});

test('the members of a room are spread over workers, although connections open on the workers in turn', () => {
  for (const [count, workers] of [
    [2, 2],
    [4, 2],
    [4, 8],
    [8, 8],
    [100, 4],
  ] as const) {
    const met = Array.from({ length: count }, () => new Set<number>());
    for (let connection = 0; connection < count * 100; connection++) {
      for (const room of roomsOfConnection(plan({ count }), connection)) met[room]?.add(connection % workers);
    }
    for (const some of met) assert.ok(some.size === workers, `${count} rooms, ${workers} workers: only ${[...some]}`);
  }
});

test('every room gets the same number of broadcasts, from all workers, if rooms take turns', () => {
  for (const [count, workers] of [
    [1, 2],
    [2, 2],
    [3, 4],
    [10, 4],
  ] as const) {
    const all = Array.from({ length: count * workers }, (_, index) =>
      broadcastDestination(plan({ count }), index, workers),
    );
    const pairs = new Set(all.map(({ room, via }) => `${room} ${via}`));
    assert.equal(pairs.size, count * workers, `${count} rooms, ${workers} workers`);
  }
});

test('the seed decides the order of random rooms, and no room is preferred', () => {
  const order = (seed: number) =>
    Array.from({ length: 10_000 }, (_, index) => broadcastDestination(plan({ order: 'random', seed }), index, 2).room);
  assert.deepEqual(order(1), order(1));
  assert.notDeepEqual(order(1), order(2));
  for (const [room, broadcasts] of Map.groupBy(order(7), (room) => room)) {
    assert.ok(Math.abs(broadcasts.length - 1000) < 150, `room ${room}: ${broadcasts.length}`);
  }
});
