import assert from 'node:assert/strict';
import { test } from 'node:test';
import { column } from '../../../helpers/columns.ts';
import {
  BINARY,
  CLOSE,
  CONNECT_PACKET,
  clientFrames,
  type FakeConnection,
  fakeConnection,
  OPEN_PACKET,
  PING,
  serverFrame,
  TEXT,
  text,
} from '../../../helpers/fake-wire.ts';

const BROADCAST = `42["broadcast",{"seq":7,"sentAtUs":123456789012,"worker":"w1","data":"${'x'.repeat(150)}"}]`;
const GREETING = Buffer.from('42["greeting","grüße 🎉"]');

/** Stream with one packet of every kind that a server sends. */
const STREAM = Buffer.concat([
  text(OPEN_PACKET),
  text(CONNECT_PACKET),
  text('40/chat,{"sid":"s2"}'),
  text(BROADCAST),
  text('2'),
  // Fragments of a message that is split within a character, with control frames between the fragments.
  serverFrame(TEXT, GREETING.subarray(0, 17), false),
  serverFrame(PING, 'are you there'),
  serverFrame(0, '', false),
  serverFrame(0, GREETING.subarray(17, 22), false),
  serverFrame(0, GREETING.subarray(22)),
  text('451-/chat,["file",{"_placeholder":true,"num":0},"after"]'),
  serverFrame(BINARY, Buffer.from([0, 255, 1, 254])),
  text('43/chat,12["done"]'),
  text('42["nobody waits for this"]'),
  text('41/chat,'),
  serverFrame(CLOSE, Buffer.from([0x03, 0xe9, 0x62, 0x79, 0x65])),
]);

function play(chunks: (stream: Buffer) => Buffer[]) {
  const fake = fakeConnection(['/', '/chat']);
  fake.connection.interest = new Set(['greeting', 'file']);
  for (const chunk of chunks(Buffer.concat([fake.upgrade, STREAM]))) feedAndOverwrite(fake, chunk);
  const reports = fake.sink.reports.map((report) => ({ ...report, timings: undefined, receivedAtUs: undefined }));
  return { reports, frames: clientFrames(fake.sent.slice(1)), wire: fake.wire.state };
}

/** Feeds a chunk and overwrites it, like the shared read buffer. Data that was not copied is then wrong. */
function feedAndOverwrite(fake: FakeConnection, chunk: Buffer): void {
  const shared = Buffer.alloc(chunk.length + 20, '1');
  shared.set(chunk, 10);
  fake.connection.feed(shared, 10, 10 + chunk.length);
  shared.fill(0xff);
}

const whole = play((stream) => [stream]);

test('the light client reads a stream that arrives in one chunk completely', () => {
  assert.deepEqual(column(whole.reports, 'on'), ['open', 'open', 'copy', 'event', 'event', 'ack', 'closed', 'closed']);
  const [, , broadcast, greeting, file, ack, left, closed] = whole.reports;
  assert.partialDeepStrictEqual(broadcast, { id: 7 });
  assert.partialDeepStrictEqual(greeting, { namespace: '/', event: 'greeting', args: ['grüße 🎉'] });
  assert.partialDeepStrictEqual(file, { namespace: '/chat', args: [Buffer.from([0, 255, 1, 254]), 'after'] });
  assert.partialDeepStrictEqual(ack, { namespace: '/chat', ackId: 12, args: ['done'] });
  assert.partialDeepStrictEqual(left, { reason: 'io server disconnect', namespace: '/chat' });
  assert.partialDeepStrictEqual(closed, { reason: 'transport close', namespace: undefined });
  assert.deepEqual(whole.frames, [
    { opcode: TEXT, payload: '40' },
    { opcode: TEXT, payload: '40/chat,' },
    { opcode: TEXT, payload: '3' },
    { opcode: 10, payload: Buffer.from('are you there') },
    { opcode: CLOSE, payload: Buffer.from([0x03, 0xe9]) },
  ]);
  assert.equal(whole.wire, 'ended');
});

test('the light client reads the same stream split at any byte', () => {
  const size = fakeConnection().upgrade.length + STREAM.length;
  for (let at = 1; at < size; at++) {
    assert.deepEqual(
      play((stream) => [stream.subarray(0, at), stream.subarray(at)]),
      whole,
      `split at ${at}`,
    );
  }
});

test('the light client reads the same stream in chunks of any size', () => {
  for (const size of [1, 2, 3, 5, 7, 13, 64, 127]) {
    const split = (stream: Buffer) =>
      Array.from({ length: Math.ceil(stream.length / size) }, (_, i) => stream.subarray(i * size, (i + 1) * size));
    assert.deepEqual(play(split), whole, `chunks of ${size}`);
  }
});
