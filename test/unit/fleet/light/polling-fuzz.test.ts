import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LightClients } from '../../../../plugin/fleet/light/clients.ts';
import type { Wire, WireListener } from '../../../../plugin/fleet/light/sockets/wire.ts';
import { randomSource } from '../../../helpers/random-source.ts';
import { clientOptions, RecordingSink } from '../../../helpers/recording-sink.ts';

const CASES = 2000;
const OPEN = '0{"sid":"a","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":100}';
const BODIES = [
  OPEN,
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

test('whatever answers polling requests, a connection reports at most one end, and closes its wires', () => {
  for (let seed = 0; seed < CASES; seed++) {
    const random = randomSource(seed);
    const wires: OpenWire[] = [];
    const clients = new LightClients((listener) => {
      const close = () => {
        wire.isOpen = false;
      };
      const wire: OpenWire = { listener, isOpen: true, writableLength: 0, write() {}, end() {}, destroy: close };
      wires.push(wire);
      return wire;
    });
    const sink = new RecordingSink();
    const client = clients.create(0, clientOptions({ transports: ['polling', 'websocket'] }), sink);
    client.interest = new Set(['wanted']);
    client.connect('/');
    for (let step = 0; step < 12; step++) {
      const open = wires.filter(({ isOpen }) => isOpen);
      const wire = open[random(open.length || 1)];
      if (wire === undefined) break;
      wire.listener?.onWireOpen(false);
      const answer = answerOf(BODIES[step < 3 ? step : random(BODIES.length)] as string, random(3) === 0);
      if (step > 0 && random(3) === 0) answer[random(answer.length)] = random(256);
      for (let at = 0; at < answer.length && wire.isOpen; ) {
        const end = Math.min(answer.length, at + 1 + random(80));
        wire.listener?.feed(answer, at, end);
        at = end;
      }
      if (wire.isOpen && random(10) === 0) {
        wire.isOpen = false;
        wire.listener?.onWireClosed();
      }
      if (random(15) === 0) client.emit('/', 'hello', [Buffer.from('b')], 1);
    }
    const ends = [...sink.all('failed'), ...sink.all('closed').filter(({ namespace }) => namespace === undefined)];
    assert.ok(ends.length <= 1, `seed ${seed}: ${ends.length} ends`);
    client.destroy();
    assert.deepEqual(
      wires.filter(({ isOpen }) => isOpen),
      [],
      `seed ${seed}: a wire is still open`,
    );
    clients.close();
  }
});
