/** Namespace, room and id of a broadcast: any of them tells two apart, whatever is written into the others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audienceOf, countedAs, isAudience, roomOfCounted } from '../../../protocol/counted-as.ts';

const NAMESPACES = ['/', '/chat', '/chat/1'];
const ROOMS = ['', 'chat', '1', 'a,b', '/chat,', '\0', '1\0a', '\ud800', 'é'.repeat(200)];
const IDS = ['', '1', '\0', '\x001\0a/,1', 'b,1', '/chat,1', ',1', '\ud800'];

test('each of them is one broadcast, and its room is found again', () => {
  const all = NAMESPACES.flatMap((namespace) => ROOMS.flatMap((room) => IDS.map((id) => ({ namespace, room, id }))));
  assert.equal(new Set(all.map(countedAs)).size, all.length);
  for (const one of all) assert.equal(roomOfCounted(countedAs(one)), one.room || audienceOf(one.namespace));
});

test('in the main namespace, without rooms, it is the id', () => {
  assert.equal(countedAs({ namespace: '/', room: '', id: 'run-1' }), 'run-1');
});

test('each namespace has an audience of its own, which is no room', () => {
  assert.equal(new Set(NAMESPACES.map(audienceOf)).size, NAMESPACES.length);
  assert.ok(NAMESPACES.map(audienceOf).every(isAudience));
  assert.equal(isAudience('chat'), false);
});
