/** What the Engine.IO layer does by itself, with no Socket.IO above it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionPool } from '../../../../plugin/fleet/light/pool.ts';
import {
  BINARY,
  CLOSE,
  clientFrames,
  fakeWire,
  OPEN_PACKET,
  serverFrame,
  TEXT,
  text,
  upgradeAnswer,
} from '../../../helpers/fake-wire.ts';
import { PlainEngineIo } from '../../../helpers/lower-layers.ts';
import { clientOptions } from '../../../helpers/recording-sink.ts';

/** A connection whose server has agreed to WebSocket. */
function upgraded() {
  const { dial, sent, wire } = fakeWire();
  const pool = new ConnectionPool(dial);
  const connection = new PlainEngineIo(clientOptions({ path: '/engine.io', query: { token: 'a' } }), pool);
  connection.connect();
  connection.onWireOpen(false);
  const feed = (...frames: Buffer[]) => connection.feed(Buffer.concat(frames), 0, Buffer.concat(frames).length);
  const request = String(sent[0]);
  feed(upgradeAnswer(sent[0]));
  sent.length = 0;
  return { connection, reports: connection.reports, request, sent, wire, feed, pool };
}

function open() {
  const fake = upgraded();
  fake.feed(text(OPEN_PACKET));
  assert.deepEqual(fake.reports.all, [['open', 'w0-abc']]);
  fake.reports.all.length = 0;
  return fake;
}

test('it asks for Engine.IO 4 over WebSocket, with path and query of the options', () => {
  const { request } = upgraded();
  assert.match(request, /^GET \/engine\.io\/\?token=a&EIO=4&transport=websocket HTTP\/1\.1\r\n/);
});

test('it is not open before the handshake', () => {
  const { connection, reports } = upgraded();
  assert.deepEqual(reports.all, []);
  assert.equal(connection.pingDeadlineMs, 0);
  connection.onDeadline();
  assert.deepEqual(reports.all, [['failed', 'timeout_open']]);
});

test('a handshake that is none', () => {
  const frames = [
    text('hello'),
    text(''),
    text('0'),
    text('0null'),
    text('0{}'),
    text('0{"sid":"a","pingInterval":"x","pingTimeout":1}'),
    text('0{"sid":"","pingInterval":1,"pingTimeout":1}'),
    text('0{"sid":"a","pingInterval":-5,"pingTimeout":5}'),
    serverFrame(BINARY, OPEN_PACKET),
    serverFrame(TEXT, Buffer.concat([Buffer.from('0{"sid":"'), Buffer.of(0xff), Buffer.from('"}')])),
  ];
  for (const frame of frames) {
    const { reports, feed, wire } = upgraded();
    feed(frame);
    assert.deepEqual(reports.all, [['failed', 'not_engineio']]);
    assert.equal(wire.state, 'destroyed');
  }
});

test('messages arrive without their type, and are sent with it', () => {
  const { connection, reports, sent, feed } = open();
  feed(text('4hello'), text('4'), serverFrame(BINARY, Buffer.of(0x34, 1)));
  assert.deepEqual(reports.all, [
    ['message', 'hello'],
    ['message', ''],
    ['binary message', Buffer.of(0x34, 1)],
  ]);
  connection.send('ü');
  connection.send('head', Buffer.of(7));
  assert.equal(sent.length, 2, 'messages that belong together leave in one write');
  assert.deepEqual(clientFrames(sent), [
    { opcode: TEXT, payload: '4ü' },
    { opcode: TEXT, payload: '4head' },
    { opcode: BINARY, payload: Buffer.of(7) },
  ]);
});

test('a ping is answered and moves the deadline for the next one', () => {
  const { connection, reports, sent, feed, pool } = open();
  connection.pingDeadlineMs = 1;
  const nowMs = pool.nowMs();
  feed(text('2'));
  assert.ok(connection.pingDeadlineMs >= nowMs + 45_000);
  assert.deepEqual(clientFrames(sent), [{ opcode: TEXT, payload: '3' }]);
  connection.onPingOverdue();
  assert.deepEqual(reports.all, [['closed', 'ping timeout']]);
});

test('packets for other transports change nothing; unknown ones end the connection', () => {
  const { reports, sent, feed } = open();
  feed(text('6'), text('3'), text('5'));
  assert.deepEqual([reports.all, sent], [[], []]);
  feed(text('7'), text('4late'));
  assert.deepEqual(reports.all, [['closed', 'parse error']]);
  assert.deepEqual(clientFrames(sent), [{ opcode: CLOSE, payload: Buffer.from([0x03, 0xea]) }]);
});

test('the server ends the session', () => {
  const { reports, feed, wire } = open();
  feed(text('1'));
  assert.deepEqual(reports.all, [['closed', 'transport close']]);
  assert.equal(wire.state, 'ended');
});
