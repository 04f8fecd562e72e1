/** How long rooms are remembered that nobody is in. What clients see of rooms is in the integration test of the same name. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { it, type TestContext } from 'node:test';
import { MAX_ROOMS, MeasuredRooms } from '../../../server/contract/measured-rooms.ts';
import { Guard } from '../../../server/guard.ts';

const RESTORABLE_MS = 120_000;

function setUp(t: TestContext, recovery?: { maxDisconnectionDuration: number }) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const adapter = Object.assign(new EventEmitter(), { rooms: new Map<string, Set<string>>() });
  const namespace = { adapter, sockets: new Map(), server: { opts: { connectionStateRecovery: recovery } } };
  const rooms = new MeasuredRooms(namespace as never, ['capacity'], new Guard(() => assert.fail()));
  const enter = (room: string, id: string) => {
    adapter.rooms.set(room, new Set([id]));
    adapter.emit('join-room', room, id);
  };
  const leave = (room: string) => {
    adapter.rooms.delete(room);
    adapter.emit('delete-room', room);
  };
  const join = (room: string, id = 'client') => rooms.join({ id, join: () => enter(room, id) } as never, room);
  return { enter, leave, join };
}

it('a room that a session brings back is still one for measurements, until no session can', async (t) => {
  const { enter, leave, join } = setUp(t, { maxDisconnectionDuration: RESTORABLE_MS });
  await join('capacity');
  leave('capacity');
  t.mock.timers.tick(RESTORABLE_MS - 1);
  enter('capacity', 'restored');
  await join('capacity');
  leave('capacity');
  t.mock.timers.tick(RESTORABLE_MS);
  enter('capacity', 'restored');
  await assert.rejects(join('capacity'), { code: 'JOIN_REFUSED' });
});

it('without recovery of sessions nothing is remembered', async (t) => {
  const { enter, leave, join } = setUp(t);
  await join('capacity');
  leave('capacity');
  enter('capacity', 'of the server');
  await assert.rejects(join('capacity'), { code: 'JOIN_REFUSED' });
});

it('the rooms that are remembered are as many as those that can be in use', async (t) => {
  const { enter, leave, join } = setUp(t, { maxDisconnectionDuration: RESTORABLE_MS });
  for (let index = 0; index <= MAX_ROOMS; index++) {
    await join(`capacity:${index}`);
    leave(`capacity:${index}`);
  }
  enter('capacity:0', 'restored');
  enter('capacity:1', 'restored');
  await assert.rejects(join('capacity:0'), { code: 'JOIN_REFUSED' });
  await join('capacity:1');
});
