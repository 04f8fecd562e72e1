/** Tests that a server which tries to crash or fill the process closes only its own connection, with a cause. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { deflateRawSync } from 'node:zlib';
import { BUFFERED_BYTES } from '../../../../plugin/fleet/light/buffer-budget.ts';
import { MAX_UNSENT_BYTES } from '../../../../plugin/fleet/light/sockets/wire.ts';
import { column } from '../../../helpers/columns.ts';
import {
  BINARY,
  CONNECT_PACKET,
  fakeConnection,
  OPEN_PACKET,
  openConnection,
  serverFrame,
  TEXT,
  text,
} from '../../../helpers/fake-wire.ts';

test('a message over the size limit closes the connection, at once, in fragments or compressed', () => {
  const head = Buffer.from([0x82, 127, 0, 0, 0, 0, 0x06, 0, 0, 0]);
  const fragments = [serverFrame(TEXT, 'x'.repeat(60), false), serverFrame(0, 'x'.repeat(60), false)];
  const bomb = serverFrame(0x41, deflateRawSync(Buffer.alloc(50_000_000)));
  for (const frames of [[head], fragments, [text('x'.repeat(101))], [bomb]]) {
    const { sink, upgrade, feed, wire } = fakeConnection(['/'], { compression: true, maxPayloadBytes: 100 });
    const granted = String(upgrade).replace('\r\n\r\n', '\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n');
    feed(Buffer.concat([Buffer.from(granted), text(OPEN_PACKET), text(CONNECT_PACKET)]));
    for (const frame of frames) feed(frame);
    assert.deepEqual(column(sink.all('closed'), 'reason'), ['message too large']);
    assert.equal(wire.state, 'ended');
  }
});

test('the light client closes its connection to a server that does not read', async () => {
  const { connection, sink, sent, wire } = openConnection();
  connection.emit('/', 'chat', ['sent']);
  wire.unsentBytes = MAX_UNSENT_BYTES + 1;
  connection.emit('/', 'chat', ['not sent']);
  connection.emit('/', 'chat', ['not sent']);
  assert.equal(sink.reports.length, 0, 'the caller is in the middle of something');
  await setImmediate();
  assert.deepEqual(sink.reports, [{ on: 'closed', reason: 'send buffer full', namespace: undefined }]);
  assert.equal(sent.length, 1);
  assert.equal(wire.state, 'destroyed');
});

/** Bytes that other connections of the process already hold. */
const OTHER_BYTES = BUFFERED_BYTES - 1000;

test('the buffers of all connections together are bounded, and released when the connections close', () => {
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
    buffers.hold(OTHER_BYTES);
    for (const frame of frames) feed(frame);
    assert.deepEqual(sink.reports, [{ on: 'closed', reason: 'buffers full', namespace: undefined }], what);
    assert.equal(buffers.usedBytes, OTHER_BYTES, what);
    connection.destroy();
    assert.equal(buffers.usedBytes, OTHER_BYTES, what);
  }
  const connecting = fakeConnection();
  connecting.buffers.hold(OTHER_BYTES);
  connecting.feed(Buffer.from(`HTTP/1.1 101 x\r\nX: ${payload}${payload}`));
  assert.equal(connecting.sink.all('failed')[0]?.cause, 'buffers_full');
});

test('the light client accepts a complete message even if other connections fill the shared buffers', () => {
  const { connection, sink, feed, buffers } = openConnection();
  connection.interest = new Set(['wanted']);
  buffers.hold(BUFFERED_BYTES);
  for (let count = 0; count < 3; count++) feed(text(`42["wanted","${'x'.repeat(5000)}"]`));
  assert.equal(sink.all('event').length, 3);
  assert.equal(sink.reports.length, 3);
});

test('the light client closes connections to a server that leaves data unread on many connections', async () => {
  const { connection, sink, wire, buffers } = openConnection();
  buffers.hold(OTHER_BYTES);
  wire.unsentBytes = 1001;
  connection.emit('/', 'chat', []);
  await setImmediate();
  assert.equal(sink.all('closed')[0]?.reason, 'buffers full');
  assert.equal(buffers.usedBytes, OTHER_BYTES);
});

test('the light client releases the memory of sent bytes', async () => {
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
