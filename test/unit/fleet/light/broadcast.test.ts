import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BroadcastReader } from '../../../../plugin/fleet/light/in-place/broadcast.ts';
import { ackRequest, eventName } from '../../../../plugin/fleet/light/socket-io/packet-head.ts';

/** Between other messages, as in the shared read buffer. */
function read(reader: BroadcastReader, packet: string): boolean {
  const body = Buffer.from(packet);
  const bytes = Buffer.concat([Buffer.from('12["broadcast",'), body, Buffer.from('":1,"worker":"stale"}]99')]);
  return reader.read(bytes, 15, 15 + body.length);
}

const BODY = '["broadcast",{"seq":42,"sentAtUs":987654321012,"worker":"w3","data":"x"}]';

test('a broadcast is read in any namespace, with or without an acknowledgement asked for', () => {
  for (const head of ['', '/chat,', '17', '/chat,17']) {
    const reader = new BroadcastReader();
    assert.equal(read(reader, head + BODY), true, head);
    assert.deepEqual([reader.seq, reader.sentAtUs, reader.worker], [42, 987654321012, 'w3']);
  }
});

test('a worker keeps its one string', () => {
  const reader = new BroadcastReader();
  const names = ['w1', 'w2', 'w1', 'wörker', 'w2'].map((worker) => {
    assert.equal(read(reader, BODY.replace('w3', worker)), true);
    return reader.worker;
  });
  assert.deepEqual(names, ['w1', 'w2', 'w1', 'wörker', 'w2']);
});

test('a server that invents workers does not fill the memory with them', () => {
  const reader = new BroadcastReader();
  for (let i = 0; i < 5000; i++) {
    assert.equal(read(reader, BODY.replace('w3', `w${i}`)), true);
    assert.equal(reader.worker, `w${i}`);
  }
});

test('anything else is no broadcast of the contract', () => {
  const others = [
    '',
    '[',
    '/chat',
    '["broadcast"]',
    '["broadcast",{"seq":',
    '["broadcast",{"seq":42',
    '["broadcast",{"seq":42,"sentAtUs":1,"worker":"w3',
    '["broadcast",{"seq":-1,"sentAtUs":1,"worker":"w3"}]',
    '["broadcast",{"seq":1.5,"sentAtUs":1,"worker":"w3"}]',
    '["broadcast",{"seq":1,"sentAtUs":1e9,"worker":"w3"}]',
    '["broadcast",{"seq":1234567890123456,"sentAtUs":1,"worker":"w3"}]',
    '["broadcast",{"sentAtUs":1,"seq":1,"worker":"w3"}]',
    '["broadcast",{"seq":1,"sentAtUs":1,"worker":"w\\u0033"}]',
    '["broadcasts",{"seq":1,"sentAtUs":1,"worker":"w3"}]',
  ];
  for (const other of others) assert.equal(read(new BroadcastReader(), other), false, other);
});

test('every beginning of a broadcast up to its worker is no broadcast, whatever lies behind it', () => {
  for (let size = 0; size < BODY.indexOf('"w3"') + 4; size++) {
    assert.equal(read(new BroadcastReader(), BODY.slice(0, size)), false, BODY.slice(0, size));
  }
});

test('event names', () => {
  const name = (packet: string) => eventName(Buffer.from(`42${packet}`), 2, packet.length + 2);
  assert.equal(name('["hello",1]'), 'hello');
  assert.equal(name('/chat,5["hello"]'), 'hello');
  assert.equal(name('["a\\"b"]'), undefined);
  assert.equal(name('[1]'), undefined);
  assert.equal(name('["unfinished'), undefined);
});

test('an acknowledgement that an event asks for is found without decoding', () => {
  const request = (packet: string) => {
    const bytes = Buffer.from(`99${packet}17["stale"]`);
    return ackRequest(bytes, 2, 2 + packet.length);
  };
  assert.deepEqual(request('17["a"]'), { namespace: '/', id: 17 });
  assert.deepEqual(request('/chat,17["a"]'), { namespace: '/chat', id: 17 });
  for (const packet of ['["a"]', '/chat,["a"]', '/v2,["a"]', '']) assert.equal(request(packet), undefined, packet);
});
