/** What the WebSocket layer does by itself, with no Engine.IO above it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionPool } from '../../../../plugin/fleet/light/pool.ts';
import {
  BINARY,
  CLOSE,
  clientFrames,
  fakeWire,
  PING,
  serverFrame,
  TEXT,
  text,
  upgradeAnswer,
} from '../../../helpers/fake-wire.ts';
import { PlainWebSocket } from '../../../helpers/lower-layers.ts';
import { clientOptions } from '../../../helpers/recording-sink.ts';

const VIOLATION = Buffer.from([0xff, 0xff]);
const PONG = 10;
const code = (value: number) => Buffer.from([value >> 8, value & 0xff]);

/** A connection that waits for the answer to its upgrade request. */
function upgrading() {
  const { dial, sent, wire } = fakeWire();
  const connection = new PlainWebSocket(clientOptions({ url: 'ws://127.0.0.1:81/feed?x=1' }), new ConnectionPool(dial));
  connection.connect();
  connection.onWireOpen(false);
  const feed = (...bytes: Buffer[]) => connection.feed(Buffer.concat(bytes), 0, Buffer.concat(bytes).length);
  return { connection, reports: connection.reports, sent, wire, upgrade: upgradeAnswer(sent[0]), feed };
}

function open() {
  const fake = upgrading();
  fake.feed(fake.upgrade);
  assert.deepEqual(fake.reports.all, [['open']]);
  fake.reports.all.length = 0;
  fake.sent.length = 0;
  return fake;
}

test('it asks for what the layer above planned, and for nothing of Engine.IO', () => {
  const { sent } = upgrading();
  assert.match(String(sent[0]), /^GET \/feed\?x=1 HTTP\/1\.1\r\n/);
  assert.match(String(sent[0]), /\r\nHost: 127\.0\.0\.1:81\r\n/);
});

test('messages arrive, also right behind the answer to the upgrade, and are sent masked', () => {
  const { connection, reports, sent, upgrade, feed } = upgrading();
  feed(upgrade, text('at once'));
  feed(serverFrame(BINARY, Buffer.of(0, 255)), text('2'));
  assert.deepEqual(reports.all, [['open'], ['text', 'at once'], ['binary', Buffer.of(0, 255)], ['text', '2']]);
  sent.length = 0;
  connection.send('grüße');
  connection.send(Buffer.of(1, 2));
  assert.deepEqual(clientFrames(sent), [
    { opcode: TEXT, payload: 'grüße' },
    { opcode: BINARY, payload: Buffer.of(1, 2) },
  ]);
});

test('a ping is answered with its own payload', () => {
  const { sent, reports, feed } = open();
  feed(serverFrame(PING, 'are you there'));
  assert.deepEqual(clientFrames(sent), [{ opcode: PONG, payload: Buffer.from('are you there') }]);
  assert.deepEqual(reports.all, []);
});

test('close() waits for the server, and reads nothing more but its close frame', () => {
  const { connection, reports, sent, wire, feed } = open();
  connection.close();
  feed(text('too late'), serverFrame(CLOSE, ''));
  assert.deepEqual(clientFrames(sent), [{ opcode: CLOSE, payload: Buffer.alloc(0) }]);
  assert.equal(wire.state, 'ended');
  assert.deepEqual(reports.all, []);
  connection.onWireClosed();
  assert.deepEqual(reports.all, [['left']]);
});

test('a server that does not answer the close frame is dropped', () => {
  const { connection, reports, wire } = open();
  connection.close();
  assert.ok(connection.deadlineMs > 0);
  connection.onDeadline();
  assert.equal(wire.state, 'destroyed');
  assert.deepEqual(reports.all, [['left']]);
});

test('how the server ends an open connection, and what it is answered', () => {
  const cases: [string, Buffer, Buffer | undefined][] = [
    ['transport close', serverFrame(CLOSE, code(1001)), code(1001)],
    ['transport close', serverFrame(CLOSE, ''), Buffer.alloc(0)],
    ['transport error', VIOLATION, code(1002)],
  ];
  for (const [reason, bytes, answer] of cases) {
    const { connection, reports, sent, wire, feed } = open();
    feed(bytes);
    assert.deepEqual(reports.all, [['closed', reason]]);
    assert.deepEqual(clientFrames(sent), [{ opcode: CLOSE, payload: answer }]);
    assert.equal(wire.state, 'ended');
    connection.onWireClosed();
    assert.equal(reports.all.length, 1);
  }
  const { connection, reports } = open();
  connection.onWireClosed();
  assert.deepEqual(reports.all, [['closed', 'transport close']]);
});

test('what stops an attempt', async () => {
  const cases: [string, (fake: ReturnType<typeof upgrading>) => void][] = [
    ['timeout_upgrade', ({ connection }) => connection.onDeadline()],
    ['closed', ({ connection }) => connection.onWireClosed()],
    ['closed', ({ connection }) => connection.close()],
    ['ECONNRESET', ({ connection }) => connection.onWireError(Object.assign(new Error(), { code: 'ECONNRESET' }))],
    ['http_404', ({ feed }) => feed(Buffer.from('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'))],
    ['not_websocket', ({ feed }) => feed(VIOLATION)],
  ];
  for (const [cause, stop] of cases) {
    const fake = upgrading();
    stop(fake);
    assert.deepEqual(await fake.reports.next('failed'), [cause]);
    fake.connection.onWireClosed();
    assert.equal(fake.reports.all.length, 1);
    assert.equal(fake.wire.state, 'destroyed');
  }
});

test('destroy is silent', () => {
  const { connection, reports, wire, feed } = open();
  connection.destroy();
  feed(text('late'));
  connection.onWireClosed();
  connection.close();
  assert.equal(wire.state, 'destroyed');
  assert.deepEqual(reports.all, []);
});

test('every byte on the wire is counted', () => {
  const { connection, reports, sent, upgrade, feed } = upgrading();
  const received = Buffer.concat([upgrade, text('hello'), serverFrame(PING, 'x')]);
  feed(received);
  connection.send('hello');
  feed(serverFrame(CLOSE, ''));
  assert.equal(reports.receivedBytes, received.length + serverFrame(CLOSE, '').length);
  assert.equal(reports.sentBytes, Buffer.concat(sent).length);
});
