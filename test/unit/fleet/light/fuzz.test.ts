/**
 * Tests that any input of a server, over a WebSocket or in polling responses, closes a connection at most once and
 * without an exception.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LightClients } from '../../../../plugin/fleet/light/clients.ts';
import type { Wire, WireListener } from '../../../../plugin/fleet/light/sockets/wire.ts';
import * as wire from '../../../helpers/fake-wire.ts';
import { randomSource } from '../../../helpers/random-source.ts';
import { clientOptions, RecordingSink } from '../../../helpers/recording-sink.ts';

const { text, serverFrame, OPEN_PACKET } = wire;
type Random = (below: number) => number;

const CONNECTED = [text(OPEN_PACKET), text(wire.CONNECT_PACKET)];
const VALID = Buffer.concat([
  ...CONNECTED,
  text('42["broadcast",{"seq":7,"sentAtUs":123456789012,"worker":"w1","data":"x"}]'),
  text('2'),
  serverFrame(wire.TEXT, '42["wanted",', false),
  serverFrame(0, '{"a":[1,2]}]'),
  text('451-["wanted",{"_placeholder":true,"num":0}]'),
  serverFrame(wire.BINARY, 'attachment'),
  text('430["done"]'),
  text('4412{"message":"no"}'),
]);

const endsOf = (sink: RecordingSink) => [
  ...sink.all('failed'),
  ...sink.all('closed').filter(({ namespace }) => namespace === undefined),
];

/** Asserts that the connection is open and works, or has reported a single close and released its socket. */
function assertClean({ sink, wire, connection }: wire.FakeConnection, label: string): void {
  const ends = endsOf(sink);
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

function randomBytes(random: Random): Buffer {
  return Buffer.from(Array.from({ length: 1 + random(100) }, () => random(256)));
}

function damaged(stream: Buffer, random: Random): Buffer {
  const at = random(stream.length);
  const kind = random(3);
  if (kind === 0) return Buffer.concat([stream.subarray(0, at), Buffer.of(random(256)), stream.subarray(at + 1)]);
  const from = kind === 1 ? at + 1 + random(8) : Math.max(0, at - random(40));
  return Buffer.concat([stream.subarray(0, at), stream.subarray(from)]);
}

const STREAMS: Record<string, (upgrade: Buffer, random: Random) => Buffer> = {
  'random bytes instead of an HTTP answer': (_, random) => randomBytes(random),
  'random bytes after a valid beginning': (upgrade, random) =>
    Buffer.concat([upgrade, ...CONNECTED.slice(0, random(3)), randomBytes(random)]),
  'a valid stream with a few bytes changed, dropped or doubled': (upgrade, random) => {
    let stream: Buffer = Buffer.concat([upgrade, VALID]);
    for (let changes = 1 + random(3); changes > 0; changes--) stream = damaged(stream, random);
    return stream;
  },
};

for (const [what, streamOf] of Object.entries(STREAMS)) {
  test(`the light client reports one clean close after ${what}`, () => {
    const random = randomSource(4);
    for (let i = 0; i < 3000; i++) {
      const fake = wire.fakeConnection();
      fake.connection.interest = new Set(['wanted']);
      const bytes = streamOf(fake.upgrade, random);
      for (let at = 0, size = 0; at < bytes.length; at += size) {
        size = 1 + random(60);
        fake.feed(bytes.subarray(at, at + size));
      }
      if (what.includes('instead'))
        assert.match(fake.sink.all('failed')[0]?.cause ?? 'not_websocket', /^not_websocket$/);
      assertClean(fake, `case ${i}`);
    }
  });
}

const BODIES = [
  '0{"sid":"a","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":100}',
  '40{"sid":"s"}',
  'ok',
  '6',
  '42["broadcast",{"seq":7,"sentAtUs":123456789012,"worker":"w1","data":"x"}]\x1e2',
  '451-["wanted",{"_placeholder":true,"num":0}]\x1ebAAH/',
  '430["done"]\x1e4412{"message":"no"}',
  '1',
];

interface OpenWire extends Wire {
  listener: WireListener | undefined;
  isOpen: boolean;
}

function answerOf(body: string, isChunked: boolean): Buffer {
  const size = Buffer.byteLength(body);
  if (!isChunked) return Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\nSet-Cookie: r=1\r\n\r\n${body}`);
  const chunk = `${size.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  return Buffer.from(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`);
}

test('any answer to polling requests leads to at most one reported close, and to closed sockets', () => {
  for (let seed = 0; seed < 2000; seed++) {
    const random = randomSource(seed);
    const wires: OpenWire[] = [];
    const openWires = () => wires.filter(({ isOpen }) => isOpen);
    const clients = new LightClients((listener) => {
      const close = () => Object.assign(wire, { isOpen: false });
      const wire: OpenWire = { listener, isOpen: true, writableLength: 0, write() {}, end() {}, destroy: close };
      wires.push(wire);
      return wire;
    });
    const sink = new RecordingSink();
    const client = clients.create(clientOptions({ transports: ['polling', 'websocket'] }), sink);
    client.interest = new Set(['wanted']);
    client.connect('/');
    for (let step = 0; step < 12; step++) {
      const open = openWires();
      const wire = open[random(open.length || 1)];
      if (wire === undefined) break;
      wire.listener?.onWireOpen(false);
      const answer = answerOf(BODIES[step < 3 ? step : random(BODIES.length)] as string, random(3) === 0);
      if (step > 0 && random(3) === 0) answer[random(answer.length)] = random(256);
      for (let at = 0, end = 0; at < answer.length && wire.isOpen; at = end) {
        end = Math.min(answer.length, at + 1 + random(80));
        wire.listener?.feed(answer, at, end);
      }
      if (wire.isOpen && random(10) === 0) {
        wire.isOpen = false;
        wire.listener?.onWireClosed();
      }
      if (random(15) === 0) client.emit('/', 'hello', [Buffer.from('b')], 1);
    }
    assert.ok(endsOf(sink).length <= 1, `seed ${seed}`);
    client.destroy();
    assert.deepEqual(openWires(), [], `seed ${seed}: a wire is still open`);
    clients.close();
  }
});
