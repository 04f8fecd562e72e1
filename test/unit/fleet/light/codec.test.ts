/** Socket.IO with another parser: the layer takes whatever codec it is given. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Packet, PacketCodec } from '../../../../plugin/fleet/light/socket-io/codec.ts';
import { BINARY, clientFrames, fakeConnection, OPEN_PACKET, serverFrame, text } from '../../../helpers/fake-wire.ts';
import { jsonCodec } from '../../../helpers/json-codec.ts';
import { RecordingSink } from '../../../helpers/recording-sink.ts';

const message = (packet: Packet) => serverFrame(BINARY, jsonCodec.encode(packet)[0] as Uint8Array);
const event = (...data: unknown[]) => message({ type: 2, nsp: '/', data });
const BROADCAST = { seq: 7, sentAtUs: 123, worker: 'w1', data: 'x' };

function open(codec: PacketCodec = jsonCodec) {
  const fake = fakeConnection(['/'], { auth: { token: 't' } }, new RecordingSink(), codec);
  fake.feed(Buffer.concat([fake.upgrade, text(OPEN_PACKET), message({ type: 0, nsp: '/', data: { sid: 's' } })]));
  assert.equal(fake.sink.all('open').length, 1);
  fake.sink.reports.length = 0;
  return fake;
}

test('packets are sent as the codec writes them', () => {
  const { connection, sent } = open();
  connection.emit('/', 'hello', [1], 5);
  connection.close();
  const packets = clientFrames(sent.slice(1)).map(({ payload }) => (payload.length > 0 ? JSON.parse(`${payload}`) : 0));
  assert.deepEqual(packets, [
    { type: 0, nsp: '/', data: { token: 't' } },
    { type: 2, nsp: '/', data: ['hello', 1], id: 5 },
    { type: 1, nsp: '/' },
    0,
  ]);
});

test('events, acknowledgements and broadcasts are reported as with the official parser', () => {
  const { connection, sink, feed } = open();
  feed(event('broadcast', BROADCAST));
  feed(event('broadcast', { ...BROADCAST, seq: '7' }));
  connection.interest = new Set(['wanted', 'broadcast']);
  feed(event('broadcast', BROADCAST));
  feed(event('wanted', 1));
  feed(event('other', 2));
  feed(message({ type: 3, nsp: '/', data: ['done'], id: 4 }));
  assert.deepEqual(
    sink.reports.map((report) => report.on),
    ['copy', 'unreadable', 'copy', 'event', 'event', 'ignored', 'ack'],
  );
  assert.partialDeepStrictEqual(sink.all('copy')[0], { id: 7 });
  assert.ok((sink.all('copy')[0]?.receivedAtUs ?? 0) > 0);
  assert.partialDeepStrictEqual(sink.all('event')[1], { event: 'wanted', args: [1] });
});

test('text is not read in place when the codec has no such events', () => {
  const { sink, feed } = open();
  feed(text('42["broadcast",{"seq":1,"sentAtUs":1,"worker":"w"}]'));
  assert.deepEqual(sink.reports, [{ on: 'closed', reason: 'parse error', namespace: undefined }]);
});

test('what the codec cannot decode ends the connection', () => {
  const { sink, feed } = open();
  feed(serverFrame(BINARY, '{broken'));
  assert.deepEqual(sink.reports, [{ on: 'closed', reason: 'parse error', namespace: undefined }]);
});

test('connections of two codecs do not share their requests', () => {
  const official = fakeConnection();
  const other = fakeConnection(['/'], {}, new RecordingSink(), jsonCodec);
  for (const { feed, upgrade } of [official, other]) feed(Buffer.concat([upgrade, text(OPEN_PACKET)]));
  assert.deepEqual(
    [official, other].map(({ sent }) => String(clientFrames(sent.slice(1))[0]?.payload)),
    ['40', '{"type":0,"nsp":"/"}'],
  );
});
