import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BINARY,
  CONNECT_PACKET,
  type FakeConnection,
  fakeConnection,
  OPEN_PACKET,
  serverFrame,
  TEXT,
  text,
} from '../../../helpers/fake-wire.ts';
import { randomSource } from '../../../helpers/random-source.ts';

const CASES = 3000;

const VALID = Buffer.concat([
  text(OPEN_PACKET),
  text(CONNECT_PACKET),
  text('42["broadcast",{"seq":7,"sentAtUs":123456789012,"worker":"w1","data":"x"}]'),
  text('2'),
  serverFrame(TEXT, '42["wanted",', false),
  serverFrame(0, '{"a":[1,2]}]'),
  text('451-["wanted",{"_placeholder":true,"num":0}]'),
  serverFrame(BINARY, 'attachment'),
  text('430["done"]'),
  text('4412{"message":"no"}'),
]);

/** Whatever came: the connection is either still in a sound state, or has reported its one end and let the wire go. */
function assertClean({ sink, wire, connection }: FakeConnection, label: string): void {
  const ends = [...sink.all('failed'), ...sink.all('closed').filter(({ namespace }) => namespace === undefined)];
  assert.ok(ends.length <= 1, `${label}: ${ends.length} ends`);
  const refused = sink.all('refused').length > 0;
  assert.equal(ends.length === 1 || refused, wire.state !== 'open', `${label}: wire ${wire.state}`);
  if (ends.length === 0 && !refused) {
    connection.onWireClosed();
    const afterwards = sink.all(sink.all('open').length > 0 ? 'closed' : 'failed');
    assert.ok(afterwards.length >= 1, `${label}: the end of the wire was not reported`);
  }
  connection.destroy();
  const count = sink.reports.length;
  connection.feed(text('42["late"]'), 0, 12);
  assert.equal(sink.reports.length, count, `${label}: something was reported after the end`);
}

function feedInPieces(fake: FakeConnection, bytes: Buffer, random: (below: number) => number): void {
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random(60);
    fake.feed(bytes.subarray(at, at + size));
    at += size;
  }
}

function randomBytes(size: number, random: (below: number) => number): Buffer {
  return Buffer.from(Array.from({ length: size }, () => random(256)));
}

test('random bytes instead of an HTTP answer end in a clean failure', () => {
  const random = randomSource(1);
  for (let i = 0; i < CASES; i++) {
    const fake = fakeConnection();
    feedInPieces(fake, randomBytes(1 + random(100), random), random);
    assert.ok(['not_websocket', undefined].includes(fake.sink.all('failed')[0]?.cause));
    assertClean(fake, `case ${i}`);
  }
});

test('random bytes after a valid beginning end in a clean report', () => {
  const random = randomSource(2);
  const beginnings = [Buffer.alloc(0), text(OPEN_PACKET), Buffer.concat([text(OPEN_PACKET), text(CONNECT_PACKET)])];
  for (let i = 0; i < CASES; i++) {
    const fake = fakeConnection();
    const beginning = beginnings[random(beginnings.length)] as Buffer;
    feedInPieces(fake, Buffer.concat([fake.upgrade, beginning, randomBytes(1 + random(100), random)]), random);
    assertClean(fake, `case ${i}`);
  }
});

test('a valid stream with a few bytes changed, dropped or doubled ends in a clean report', () => {
  const random = randomSource(4);
  for (let i = 0; i < CASES; i++) {
    const fake = fakeConnection();
    fake.connection.interest = new Set(['wanted']);
    let stream = Buffer.concat([fake.upgrade, VALID]);
    for (let changes = 1 + random(3); changes > 0; changes--) {
      const at = random(stream.length);
      const kind = random(3);
      if (kind === 0) stream[at] = random(256);
      else if (kind === 1) stream = Buffer.concat([stream.subarray(0, at), stream.subarray(at + 1 + random(8))]);
      else stream = Buffer.concat([stream.subarray(0, at), stream.subarray(Math.max(0, at - random(40)))]);
    }
    feedInPieces(fake, stream, random);
    assertClean(fake, `case ${i}`);
  }
});
