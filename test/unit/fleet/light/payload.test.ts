import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CookieJar } from '../../../../plugin/fleet/light/polling/cookies.ts';
import {
  countFittingPackets,
  decodePayload,
  type EngineIoPacket,
  encodePayload,
} from '../../../../plugin/fleet/light/polling/payload.ts';
import { assertEach } from '../../../helpers/columns.ts';

function decoded(payload: string, stopAfter = Number.POSITIVE_INFINITY): EngineIoPacket[] {
  const packets: EngineIoPacket[] = [];
  const bytes = Buffer.from(`before${payload}\x1e4after`);
  const add = (packet: EngineIoPacket) => packets.push(packet) < stopAfter;
  decodePayload(bytes, 6, 6 + Buffer.byteLength(payload), {
    onPacket: (from, start, end) => add(from.toString('utf8', start, end)),
    onBinaryPacket: add,
  });
  return packets;
}

test('a polling payload contains text packets as text, and binary packets in base64', () => {
  const packets = ['42["ü"]', Buffer.from([0, 1, 255]), '3'];
  const payload = encodePayload(packets);
  assert.equal(payload, '42["ü"]\x1ebAAH/\x1e3');
  assert.deepEqual(decoded(payload), packets);
  assert.deepEqual(decoded('b'), [Buffer.alloc(0)]);
  assert.deepEqual(decoded(payload, 1), ['42["ü"]']);
  for (const empty of ['', '3\x1e', '\x1e3', '3\x1e\x1e3']) assert.throws(() => decoded(empty), /empty packet/);
});

test('a polling request holds as many packets as the server allows, and at least one', () => {
  const four = ['4aaaa', '4aaaa', Buffer.alloc(3), '4a'];
  assert.equal(countFittingPackets(four, 0), 4);
  assert.equal(countFittingPackets(four, 1), 1);
  // The first packet needs 1 + 4 bytes, each further packet 2 + 4. Three bytes count as 3.99, rounded up.
  assertEach([10, 11, 16, 17, 19, 20], (max) => countFittingPackets(four, max), [1, 2, 2, 3, 3, 4]);
  assert.equal(countFittingPackets([], 5), 0);
});

test('cookies of the server are sent together with the user’s own cookies, until they expire', () => {
  const jar = new CookieJar('own=1');
  assert.equal(jar.line, '\r\nCookie: own=1');
  jar.keep(['route=a; Path=/; HttpOnly', 'x=1', 'nonsense']);
  jar.keep(['route=b', 'x=; Expires=Thu, 01 Jan 1970 00:00:00 GMT', 'y=1; Max-Age=0']);
  assert.equal(jar.line, '\r\nCookie: own=1; route=b');
  const hostile = new CookieJar('');
  hostile.keep(['a=1\nEvil: 1', 'b=\0', 'c=\r', `d=${'x'.repeat(5000)}`]);
  assert.equal(hostile.line, '');
  for (let i = 0; i < 1000; i++) hostile.keep([`c${i}=1`]);
  assert.ok(hostile.line.length < 1000);
});
