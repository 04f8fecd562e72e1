import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LightClients } from '../../../../plugin/fleet/light/clients.ts';
import type { SocketIoConnection } from '../../../../plugin/fleet/light/socket-io/socket-io.ts';
import { assertEach, column } from '../../../helpers/columns.ts';
import {
  BINARY,
  CLOSE,
  CONNECT_PACKET,
  clientFrames,
  fakeConnection,
  OPEN_PACKET,
  openConnection,
  serverFrame,
  TEXT,
  text,
} from '../../../helpers/fake-wire.ts';
import { clientOptions, RecordingSink } from '../../../helpers/recording-sink.ts';

test('measures the time of each stage of connecting, up to the first namespace', () => {
  const { connection, sink, upgrade, feed } = fakeConnection();
  for (const step of [upgrade, text(OPEN_PACKET), text(CONNECT_PACKET)]) feed(step);
  const [open] = sink.all('open');
  assert.equal(open?.sessionId, 'w0-abc');
  const { tcpUs = -1, upgradeUs = -1, openUs = -1, namespaceUs } = open?.timings ?? { namespaceUs: -1 };
  assert.ok(tcpUs >= 0 && tcpUs <= upgradeUs && upgradeUs <= openUs && openUs <= namespaceUs);
  connection.connect('/second');
  feed(text('40/second,{"sid":"s2"}'));
  assert.equal(sink.all('open')[1]?.timings, undefined);
});

const NO_HANDSHAKE = [
  ...['hello', '', '0', '0null', '0{}', '0{"sid":"a","pingInterval":"x","pingTimeout":1}'],
  ...['0{"sid":"","pingInterval":1,"pingTimeout":1}', '0{"sid":"a","pingInterval":-5,"pingTimeout":5}'],
];
const opened = text(OPEN_PACKET);
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
/** JSON of objects that cannot be converted to a number or a text. */
const OBJECTS = '{"valueOf":1,"toString":1}';
const MAX_PAYLOAD_BYTES = 20_000;
const STOPS: [cause: string, ...frames: Buffer[]][] = [
  ['not_websocket', Buffer.from([0xff, 0xff])],
  ...NO_HANDSHAKE.map((packet): [string, Buffer] => ['not_engineio', text(packet)]),
  ['not_engineio', serverFrame(BINARY, OPEN_PACKET)],
  ['not_engineio', serverFrame(TEXT, Buffer.concat([Buffer.from('0{"sid":"'), Buffer.of(0xff), Buffer.from('"}')]))],
  ['not_engineio', text(`0{"sid":"a","pingInterval":${OBJECTS},"pingTimeout":1}`)],
  ['not_engineio', text(`0{"sid":"${'a'.repeat(10_000)}","pingInterval":1,"pingTimeout":1}`)],
  ['unreadable_data', opened, text(`44{"message":${OBJECTS}}`)],
  ['not_socketio', opened, text(`44{"message":${nested(5000)}}`)],
  ['message_too_large', opened, text('4'.repeat(MAX_PAYLOAD_BYTES + 1))],
  ['not_socketio', opened, text('4hello')],
  ['socketio_2', opened, text('40')],
  ['not_socketio', opened, serverFrame(BINARY, 'x')],
  ['closed_1008', serverFrame(CLOSE, Buffer.from([0x03, 0xf0]))],
  ['closed_1005', opened, serverFrame(CLOSE, '')],
];
for (const [cause, ...frames] of STOPS) {
  const sent = JSON.stringify(Buffer.concat(frames).toString('latin1')).slice(0, 200);
  test(`a failed connect is reported with the cause of the layer that broke: ${cause} for ${sent}`, () => {
    const { sink, wire, upgrade, feed } = fakeConnection(['/'], { maxPayloadBytes: MAX_PAYLOAD_BYTES });
    feed(Buffer.concat([upgrade, ...frames]));
    assertEach(sink.reports, (report) => report.on === 'failed' && report.cause, [cause]);
    assert.equal(wire.state, 'destroyed');
  });
}

test('connecting times out on a TCP connection without an answer', () => {
  const sink = new RecordingSink();
  const nothingSent = { writableLength: 0, write: () => assert.fail(), end: () => assert.fail(), destroy: () => {} };
  const clients = new LightClients((listener) => ({ listener, ...nothingSent }));
  const connection = clients.create(clientOptions(), sink) as SocketIoConnection;
  connection.connect('/');
  connection.onDeadline();
  connection.onWireClosed();
  assertEach(sink.reports, (report) => report.on === 'failed' && report.cause, ['timeout_tcp']);
});

test('a refused or overdue second namespace does not affect the first one', () => {
  const { connection, sink, feed, wire } = openConnection();
  connection.connect('/a');
  feed(text('44/a,{"message":"no"}'));
  connection.connect('/b');
  assert.ok(connection.deadlineMs > 0);
  connection.onDeadline();
  connection.connect('/c');
  feed(text('40/c,{"sid":"s"}'));
  assert.equal(connection.deadlineMs, 0);
  const isReported = sink.reports.map((report) => `${report.on} ${'namespace' in report && report.namespace}`);
  assert.deepEqual(isReported, ['refused /a', 'refused /b', 'open /c']);
  assert.equal(wire.state, 'open');
});

const ENDS: [reason: string, bytes: Buffer, closeCode?: number][] = [
  ['io server disconnect', text('41')],
  ['transport close', serverFrame(CLOSE, '')],
  ['transport close', serverFrame(CLOSE, Buffer.from([0x03, 0xe9])), 1001],
  ['transport error', Buffer.from([0xff, 0xff]), 1002],
  ['transport error', text('9'), 1002],
  ['transport error', text('')],
  ...['4x', '42{"not":"an array"}', '42["connect"]'].map((packet): [string, Buffer] => ['parse error', text(packet)]),
  ['transport error', serverFrame(1, Buffer.from([0x34, 0x33, 0x31, 0xff]))],
  // The arguments are nested too deep to copy.
  ['parse error', text(`42["wanted",${nested(100_000)}]`)],
];
for (const [reason, bytes, code] of ENDS) {
  const sent = JSON.stringify(bytes.toString('latin1')).slice(0, 200);
  test(`closes an open connection after ${sent}, and reports ${reason} with close code ${code}`, () => {
    const { sink, sent, wire, feed, connection } = openConnection();
    connection.interest = new Set(['connect', 'wanted']);
    feed(bytes);
    connection.onWireClosed();
    const [{ opcode, payload } = {}] = clientFrames(sent);
    assert.equal(opcode, CLOSE);
    if (code !== undefined) assert.deepEqual(payload, Buffer.from([code >> 8, code & 0xff]));
    assert.deepEqual(sink.reports, [{ on: 'closed', reason, namespace: undefined }]);
    assert.notEqual(wire.state, 'open');
  });
}

test('close() of the light client disconnects every namespace and waits for the server', () => {
  const { connection, sink, sent, wire, feed } = openConnection();
  connection.connect('/a');
  feed(text('40/a,{"sid":"s"}'));
  sent.length = 0;
  connection.close();
  connection.close();
  feed(text('42["too late"]'));
  assertEach(clientFrames(sent), ({ payload }) => String(payload), ['41', '41/a,', '']);
  assert.equal(wire.state, 'open');
  feed(serverFrame(CLOSE, ''));
  assert.equal(wire.state, 'ended');
  assert.deepEqual(sink.all('closed'), []);
  connection.onWireClosed();
  assert.deepEqual(sink.all('closed'), [{ on: 'closed', reason: 'io client disconnect', namespace: undefined }]);
});

test('closes the TCP connection to a server that does not answer the close frame', () => {
  const { connection, sink, wire } = openConnection();
  connection.close();
  assert.ok(connection.deadlineMs > 0);
  connection.onDeadline();
  assert.equal(wire.state, 'destroyed');
  assert.equal(sink.all('closed')[0]?.reason, 'io client disconnect');
});

test('a ping resets the deadline for the next ping, but packets of other transports do not', () => {
  const { connection, sink, sent, feed } = openConnection();
  const before = connection.pingDeadlineMs;
  connection.pingDeadlineMs = 1;
  feed(Buffer.concat([text('6'), text('3'), text('5')]));
  assert.deepEqual([connection.pingDeadlineMs, sent], [1, []]);
  feed(text('2'));
  assert.ok(connection.pingDeadlineMs >= before);
  connection.onPingOverdue();
  assert.equal(sink.all('closed')[0]?.reason, 'ping timeout');
});

test('destroy() of the light client causes no report, even when called inside a report', () => {
  const { connection, sink, wire, feed } = openConnection();
  connection.interest = new Set(['a']);
  sink.onEvent = () => connection.destroy();
  feed(Buffer.concat([text('42["a"]'), text('42["broadcast",{"seq":1,"sentAtUs":1,"worker":"w"}]'), text('41')]));
  connection.onWireClosed();
  assert.equal(wire.state, 'destroyed');
  assert.deepEqual(sink.reports, []);
});

test('the light client reports only events that a step of the flow waits for', () => {
  const { connection, sink, feed } = openConnection();
  feed(text('42["any",{}]'));
  connection.interest = new Set(['wanted', 'broadcast']);
  feed(text('42["any",{}]'));
  feed(text('429["wanted",1]'));
  feed(text('42["broadcast",{"seq":1,"sentAtUs":2,"worker":"w","data":"d"}]'));
  assert.deepEqual(column(sink.reports, 'on'), ['event', 'copy', 'event']);
});

test('text that is not UTF-8 closes the connection, but a replacement character does not', () => {
  const { connection, sink, feed } = openConnection();
  connection.interest = new Set(['wanted']);
  feed(text('42["wanted","\ufffd ü"]'));
  feed(serverFrame(TEXT, Buffer.concat([Buffer.from('42["wanted","'), Buffer.of(0xff), Buffer.from('"]')])));
  assertEach(sink.reports, (report) => (report.on === 'event' ? report.args : report.on), [['\ufffd ü'], 'closed']);
});

test('encodes events and acknowledgements as Socket.IO packets', () => {
  const { connection, sent } = openConnection();
  connection.emit('/', 'plain', [1, { a: 'ü' }]);
  connection.emit('/', 'asked', [], 5);
  connection.emit('/', 'binary', [Uint8Array.of(1, 2), { deep: Uint8Array.of(3) }], 6);
  connection.emit('/nowhere', 'lost', []);
  assert.deepEqual(column(clientFrames(sent), 'payload'), [
    '42["plain",1,{"a":"ü"}]',
    '425["asked"]',
    '452-6["binary",{"_placeholder":true,"num":0},{"deep":{"_placeholder":true,"num":1}}]',
    Buffer.from([1, 2]),
    Buffer.from([3]),
  ]);
});
