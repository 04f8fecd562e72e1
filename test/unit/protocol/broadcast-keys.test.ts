/**
 * Tests the key of namespace, room and id of a broadcast. A difference in any of them makes another key, even with
 * escape characters.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownBroadcastKey, parseRoomKey, roomKey, roomKeyOfOwnBroadcast } from '../../../protocol/wire/rooms.ts';

const NAMESPACES = ['/', '/chat', '/chat/1'];
const ROOMS = ['', 'chat', '1', 'a,b', '/chat,', '\0', '\0/chat,1', '1\0a', '\ud800', 'é'.repeat(200)];
const IDS = ['', '1', '\0', '\x001\0a/,1', 'b,1', '/chat,1', ',1', '\ud800'];
const PLACES = NAMESPACES.flatMap((namespace) => ROOMS.map((room) => ({ namespace, room })));

test('each broadcast has a distinct key that contains its namespace and room', () => {
  const all = PLACES.flatMap((place) => IDS.map((id) => ({ ...place, id })));
  assert.equal(new Set(all.map(ownBroadcastKey)).size, all.length);
  for (const one of all) assert.equal(roomKeyOfOwnBroadcast(ownBroadcastKey(one)), roomKey(one));
});

test('the key of a broadcast in the main namespace without rooms is its id', () => {
  assert.equal(ownBroadcastKey({ namespace: '/', room: '', id: 'run-1' }), 'run-1');
});

test('rooms of the same name in two namespaces have distinct keys, which can be decoded', () => {
  assert.equal(new Set(PLACES.map(roomKey)).size, PLACES.length);
  for (const place of PLACES) assert.deepEqual(parseRoomKey(roomKey(place)), place);
});
