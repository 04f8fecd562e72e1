/** What a server may send to end or fill the process: it ends its own connection, with a cause. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { deflateRawSync } from 'node:zlib';
import { BUFFERED_BYTES } from '../../../../plugin/fleet/light/buffer-budget.ts';
import {
  BINARY,
  CONNECT_PACKET,
  fakeConnection,
  OPEN_PACKET,
  openConnection,
  PING,
  serverFrame,
  TEXT,
  text,
} from '../../../helpers/fake-wire.ts';

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

test('handshakes and answers that cannot be converted', () => {
  const objects = '{"valueOf":1,"toString":1}';
  const cases: [string, Buffer[]][] = [
    ['not_engineio', [text(`0{"sid":"a","pingInterval":${objects},"pingTimeout":1}`)]],
    ['not_engineio', [text(`0{"sid":"${'a'.repeat(10_000)}","pingInterval":1,"pingTimeout":1}`)]],
    ['unreadable_data', [text(OPEN_PACKET), text(`44{"message":${objects}}`)]],
    ['not_socketio', [text(OPEN_PACKET), text(`44{"message":${nested(5000)}}`)]],
    ['message_too_large', [text(OPEN_PACKET), serverFrame(TEXT, '4'.repeat(101))]],
  ];
  for (const [cause, frames] of cases) {
    const { sink, upgrade, feed, wire } = fakeConnection(['/'], {
      maxPayloadBytes: cause === 'message_too_large' ? 100 : 1e6,
    });
    feed(Buffer.concat([upgrade, ...frames]));
    assert.deepEqual(
      sink.reports.map((report) => report.on === 'failed' && report.cause),
      [cause],
    );
    assert.equal(wire.state, 'destroyed');
  }
});

test('data that is nested too deeply for anybody to copy', () => {
  const { connection, sink, feed } = openConnection();
  connection.interest = new Set(['wanted']);
  feed(text(`42["wanted",${nested(100_000)}]`));
  assert.deepEqual(sink.reports, [{ on: 'closed', reason: 'parse error', namespace: undefined }]);
});

test('a message over the limit, at once or in fragments', () => {
  const head = Buffer.from([0x82, 127, 0, 0, 0, 0, 0x06, 0, 0, 0]);
  const fragments = [serverFrame(TEXT, 'x'.repeat(60), false), serverFrame(0, 'x'.repeat(60), false)];
  for (const frames of [[head], fragments, [text('x'.repeat(101))]]) {
    const { sink, feed } = openConnection({ maxPayloadBytes: 100 });
    for (const frame of frames) feed(frame);
    assert.deepEqual(sink.reports, [{ on: 'closed', reason: 'message too large', namespace: undefined }]);
  }
});

test('a compressed message that becomes larger than the limit ends its own connection', () => {
  const bomb = serverFrame(0x41, deflateRawSync(Buffer.alloc(50_000_000)));
  const granted = (upgrade: Buffer) =>
    Buffer.from(String(upgrade).replace('\r\n\r\n', '\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n'));
  const { sink, upgrade, feed, wire, buffers } = fakeConnection(['/'], { compression: true });
  feed(Buffer.concat([granted(upgrade), text(OPEN_PACKET), text(CONNECT_PACKET)]));
  feed(bomb);
  assert.deepEqual(
    sink.reports.map((report) => (report.on === 'closed' ? report.reason : report.on)),
    ['open', 'message too large'],
  );
  assert.equal(wire.state, 'ended');
  assert.equal(buffers.usedBytes, 0);
});

test('pings without end by a server that reads no answer', () => {
  for (const ping of [text('2'), serverFrame(PING, 'x')]) {
    const fake = openConnection();
    fake.wire.unsentBytes = 1;
    for (let count = 0; count < 5000; count++) fake.feed(ping);
    assert.equal(fake.sink.all('closed')[0]?.reason, 'transport error');
    assert.ok(fake.sent.length < 1100);
  }
  const honest = openConnection();
  for (let count = 0; count < 5000; count++) honest.feed(text('2'));
  assert.equal(honest.sink.reports.length, 0);
});

/** What the other connections of the process hold already. */
const OTHERS = BUFFERED_BYTES - 1000;

test('what connections hold together is bounded, and released with their end', () => {
  const payload = 'x'.repeat(600);
  const unfinished: [string, Buffer[]][] = [
    ['a frame without its end', [serverFrame(TEXT, 'x'.repeat(5000)).subarray(0, 2000)]],
    ['a message without its last fragment', [serverFrame(TEXT, payload, false), serverFrame(0, payload, false)]],
    [
      'a packet without its last attachment',
      [text('453-["wanted",0]'), serverFrame(BINARY, payload), serverFrame(BINARY, payload)],
    ],
  ];
  for (const [what, frames] of unfinished) {
    const { sink, feed, buffers, connection } = openConnection();
    buffers.hold(OTHERS);
    for (const frame of frames) feed(frame);
    assert.deepEqual(sink.reports, [{ on: 'closed', reason: 'buffers full', namespace: undefined }], what);
    assert.equal(buffers.usedBytes, OTHERS, what);
    connection.destroy();
    assert.equal(buffers.usedBytes, OTHERS, what);
  }
  const connecting = fakeConnection();
  connecting.buffers.hold(OTHERS);
  connecting.feed(Buffer.from(`HTTP/1.1 101 x\r\nX: ${payload}${payload}`));
  assert.equal(connecting.sink.all('failed')[0]?.cause, 'buffers_full');
});

test('a whole message needs no room that others hold', () => {
  const { sink, feed, buffers } = openConnection();
  buffers.hold(BUFFERED_BYTES);
  for (let count = 0; count < 3; count++) feed(text(`42["ignored","${'x'.repeat(5000)}"]`));
  assert.equal(sink.all('ignored').length, 3);
  assert.equal(sink.reports.length, 3);
});

test('a server that does not read what is sent to it', async () => {
  const alone = openConnection();
  alone.connection.emit('/', 'chat', ['sent']);
  alone.wire.unsentBytes = 16 * 1024 ** 2 + 1;
  alone.connection.emit('/', 'chat', ['not sent']);
  alone.connection.emit('/', 'chat', ['not sent']);
  assert.equal(alone.sink.reports.length, 0, 'the caller is in the middle of something');
  await setImmediate();
  assert.deepEqual(alone.sink.reports, [{ on: 'closed', reason: 'send buffer full', namespace: undefined }]);
  assert.equal(alone.sent.length, 1);
  assert.equal(alone.wire.state, 'destroyed');
  assert.equal(alone.buffers.usedBytes, 0);

  const amongOthers = openConnection();
  amongOthers.buffers.hold(OTHERS);
  amongOthers.wire.unsentBytes = 1001;
  amongOthers.connection.emit('/', 'chat', []);
  await setImmediate();
  assert.equal(amongOthers.sink.all('closed')[0]?.reason, 'buffers full');
  assert.equal(amongOthers.buffers.usedBytes, OTHERS);
});

test('what has been sent since makes room', async () => {
  const { connection, sink, buffers, wire } = openConnection();
  wire.unsentBytes = 1000;
  connection.emit('/', 'chat', []);
  assert.equal(buffers.usedBytes, 1000);
  wire.unsentBytes = 0;
  buffers.hold(BUFFERED_BYTES);
  assert.equal(buffers.usedBytes, BUFFERED_BYTES);
  await setImmediate();
  assert.equal(sink.reports.length, 0);
});
