/**
 * Tests the values that the light client reads from copies of the counted event: the broadcast of the wire contract, or
 * an event of the user's server.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import type { ClientOptions, EventCopy } from '../../../../plugin/fleet/client/client.ts';
import { type EventPlan, parseEventId } from '../../../../plugin/fleet/client/counted-event.ts';
import { JsonLocator } from '../../../../plugin/fleet/light/in-place/json-locator.ts';
import { ackRequest, eventName } from '../../../../plugin/fleet/light/socket-io/packet-head.ts';
import { parseArgumentPath, valueAtPath } from '../../../../protocol/base/json-path.ts';
import { ownBroadcastKey } from '../../../../protocol/wire/rooms.ts';
import { assertEach, column } from '../../../helpers/columns.ts';
import { BINARY, openConnection, serverFrame, text } from '../../../helpers/fake-wire.ts';

const CHAT: EventPlan = { event: 'chat', id: ['0', 'id'], sentAt: ['0', 'at'] };
/** Returns the counted id of a broadcast to a whole namespace. */
const idIn = (namespace: string, id: string) => ownBroadcastKey({ namespace, room: '', id });
const FAR = 'x'.repeat(300);

/** Returns a client that records copies: id, time, whether the payload has four characters, and its checksum. */
function noting(plan?: EventPlan, options: Partial<ClientOptions> = {}) {
  const fake = openConnection(options, plan);
  const copies: unknown[][] = [];
  fake.sink.onCopy = (id: string | number, _atUs: number, copy: EventCopy) =>
    void copies.push([id, copy.sentAt(), copy.hasSize(4), copy.checksum()]);
  const send = (...packets: string[]) => {
    for (const packet of packets) fake.feed(text(`4${packet}`));
  };
  return { ...fake, copies, send, ids: () => copies.map(([id]) => id) };
}

/** Runs a test twice: copies are decoded once, then read in place because the limit of decoded copies is used up. */
function testBoth(name: string, run: (make: typeof noting) => void): void {
  test(name, () => run(noting));
  test(`${name}, also if copies are too frequent to decode`, (t) => {
    t.mock.method(performance, 'now', () => 5000);
    run((...given) => {
      const noted = noting(...given);
      noted.send(`2["flood","${'x'.repeat(2 ** 21)}"]`);
      return noted;
    });
  });
}

test('the JSON locator finds the same value as a parser, anywhere in the message', () => {
  const values: unknown[][] = [
    ['chat', { id: 'x' }],
    ['chat', { data: 'x'.repeat(100), id: 7 }],
    ['chat', { a: 'quote " brace } \\', b: `${'y'.repeat(40)}\\" \\\\`, c: [1, { id: 1 }, ']'], id: -1.5e9 }],
    ['chat', { nested: { id: 'inner' }, id: 'outer é \u2028 "' }],
    ['chat', [1, 2, 3], { id: null }],
    ['chat', 'text', { id: { deep: [] } }],
    ['chat'],
    ['chat', {}],
    ['chat', []],
    ['chat', 12],
  ];
  const paths = ['$.0.id', '$.1.id', '$.0', '$.0.nested.id', '$.0.c[1].id', '$.0[2]', '$.1.id.deep'];
  const locate = (value: unknown[], path: string[], space?: number) => {
    const json = JSON.stringify(value, undefined, space);
    const bytes = Buffer.from(`  ${json}"],"}{[`);
    const locator = new JsonLocator([String(Number(path[0]) + 1), ...path.slice(1)]);
    if (!locator.find(bytes, 2, 2 + Buffer.byteLength(json))) return undefined;
    return JSON.parse(bytes.toString('utf8', locator.start, locator.end));
  };
  for (const value of values) {
    for (const path of paths.map((one) => parseArgumentPath(one) as string[])) {
      const expected = valueAtPath(value.slice(1), path);
      assert.deepEqual([locate(value, path), locate(value, path, 1)], [expected, expected], `${value} ${path}`);
    }
  }
});

test('the JSON locator reads nothing beyond the end of a truncated message', () => {
  const json = JSON.stringify(['chat', { data: 'x'.repeat(50), id: 'abc' }]);
  const locator = new JsonLocator(['1', 'id']);
  for (let end = 0; end < json.indexOf('abc') + 4; end++) {
    assert.equal(locator.find(Buffer.from(json), 0, end), false, `${end}`);
  }
  assert.equal(locator.find(Buffer.from(json), 0, json.length), true);
});

test('the id of a broadcast is a string, or a number that JavaScript represents exactly', () => {
  assert.deepEqual(
    [parseEventId('a'), parseEventId(7), parseEventId(-1.5), parseEventId(2 ** 53 - 1)],
    ['a', '7', '-1.5', '9007199254740991'],
  );
  // JavaScript reads both numbers as 9007199254741228.
  const none = [JSON.parse('9007199254741228'), JSON.parse('9007199254741229'), true, null, {}, 'x'.repeat(201)];
  for (const value of none) assert.equal(parseEventId(value), undefined);
});

testBoth('finds the same values in a copy of a broadcast as a full decoder', (noting) => {
  const { send, ids } = noting({ event: 'chat', id: parseArgumentPath('$.0.*.id') as string[], sentAt: undefined });
  send('2["chat",{"*":{"id":"a"},"other":{"id":"b"}}]');
  assert.deepEqual(ids(), [idIn('/', 'a'), idIn('/', 'b')]);
});

const OWN: [packet: string, id: string, sentAt?: unknown][] = [
  ['2["chat",{"id":"a","at":5}]', 'a', 5],
  ['2/room,17["chat", {"at": "2026-01-01", "id": "b \\"\\u00e9"}]', idIn('/room', 'b "é'), '2026-01-01'],
  ['2["chat",{"id":1.0}]', '1'],
  ['2["chat",{"\\u0069d":"escaped","at":6}]', 'escaped', 6],
  ['2["\\u0063hat",{"id":"name"}]', 'name'],
  ['2["chat",{"text":"x","id":"a"}]', 'a'],
  [`2["chat",{"data":"${FAR}","id":1,"at":1}]`, '1', 1],
  [`2["chat",{"data":"${FAR}","id":1,"at":2}]`, '1', 2],
  [`2["chat",{"data":"${FAR}","id":12}]`, '12'],
  [`2["chat",{"data":"${FAR}","id":"1"}]`, '1'],
  [`2["chat",{"data":"${FAR}y","id":"2"}]`, '2'],
];

testBoth('reports a copy of a broadcast with its id and its time, in any form of its JSON', (noting) => {
  const { send, copies } = noting(CHAT);
  send(...OWN.map(([packet]) => packet));
  const expected = OWN.map(([, id, sentAt]) => [id, sentAt]);
  assertEach(copies, ([id, sentAt]) => [id, sentAt], expected);
  const first = noting({ ...CHAT, id: ['0'] });
  first.send('2["chat","m1"]', '2["chat",17,"more"]');
  assert.deepEqual(first.ids(), ['m1', '17']);
});

testBoth('counts a copy without an id as unreadable, with an example, and ignores other events', (noting) => {
  const { send, sink, copies } = noting(CHAT);
  const without = ['["chat",{"identity":"a"}]', '["chat",{"id":{}}]', '["chat",{"id":null}]', '["chat"]'];
  send(...without.map((json) => `2${json}`));
  send('2["chatter",{"id":"a"}]', '2["broadcast",{"seq":1,"sentAtUs":1,"worker":"w","data":""}]');
  assert.deepEqual(column(sink.all('unreadable'), 'example'), without);
  assert.deepEqual([copies.length, sink.reports.length], [0, without.length]);
});

const broadcast = (seq: number, data: unknown = 'abcd', more = '') =>
  `["broadcast",{"seq":${seq},"sentAtUs":987654321012,"worker":"w3","data":${JSON.stringify(data)}${more}}]`;

testBoth('finds the number and payload of a broadcast in any namespace, order and notation', (noting) => {
  const { send, copies } = noting();
  const crc = crc32('abcd');
  const packets: [packet: string, ...copy: unknown[]][] = [
    ...['', '/chat,', '17', '/chat,17'].map((head): [string, ...unknown[]] => [head + broadcast(42), 42, true, crc]),
    ...[1, 12, 1, 123, 12].map((seq): [string, ...unknown[]] => [broadcast(seq), seq, true, crc]),
    [broadcast(1, 'abc'), 1, false, crc32('abc')],
    [broadcast(1, 'abcd', ',"more":[1]'), 1, true, crc],
    [broadcast(1).replace(']', ',"offset"]'), 1, true, crc],
    [broadcast(1).replace('abcd', 'ab\\u0063d'), 1, true, crc],
    [broadcast(1, 'abcé'), 1, true, crc32('abcé')],
    [broadcast(1, ']"'), 1, false, crc32(']"')],
    [broadcast(1, 7), 1, false, 0],
    ['["broadcast",{"sentAtUs":-1.5e3,"worker":"w0","data":"abcd","seq":1}]', 1, true, crc],
    ['["broadcast",{"seq":7}]', 7, false, 0],
    ['["\\u0062roadcast",{"seq":8,"data":"abcd"}]', 8, true, crc],
    [broadcast(1.5), 1.5, true, crc],
    [broadcast(-1), -1, true, crc],
  ];
  send(...packets.map(([packet]) => `2${packet}`));
  const expected = packets.map(([, ...copy]) => copy);
  assertEach(copies, ([id, , hasSize, checksum]) => [id, hasSize, checksum], expected);
});

const PLACEHOLDER = { _placeholder: true, num: 0 };
const PAYLOAD = Buffer.from([0, 255, 10, 13]);
const attached = (seq: number, id = '') => text(`451-${id}${broadcast(seq, PLACEHOLDER)}`);
const attachment = (payload = PAYLOAD) => serverFrame(BINARY, payload);

const COPY = [1, undefined, true, crc32(PAYLOAD)];

test('counts a broadcast with a binary attachment once, when both parts have arrived', () => {
  const { feed, copies } = noting();
  feed(attached(1));
  assert.deepEqual(copies, []);
  const bytes = attachment();
  feed(bytes.subarray(0, 3));
  feed(Buffer.concat([bytes.subarray(3), attached(2), attachment(Buffer.from('other'))]));
  assert.deepEqual(copies, [COPY, [2, undefined, false, crc32('other')]]);
});

test('a broadcast with an attachment has the same figures with and without full decoding', () => {
  const json = broadcast(1, PLACEHOLDER);
  for (const way of [json, json.replace(']', ',"offset"]'), `/,${json}`, `12${json}`, json.replace('t"', '\\u0074"')]) {
    const { feed, copies } = noting();
    feed(Buffer.concat([text(`451-${way}`), attachment()]));
    assert.deepEqual(copies, [COPY], way);
  }
});

test('assigns attachments of two connections to their own broadcasts', () => {
  const [one, other] = [noting(), noting()];
  one.feed(attached(1));
  other.feed(attached(2));
  one.feed(attachment());
  other.feed(attachment());
  assert.deepEqual([one.ids(), other.ids()], [[1], [2]]);
});

test('a `waitFor` step gets the payload of a broadcast with an attachment', () => {
  const { connection, sink, feed, ids } = noting();
  connection.interest = new Set(['broadcast']);
  feed(Buffer.concat([attached(1), attachment()]));
  assert.partialDeepStrictEqual(sink.all('event')[0]?.args, [{ seq: 1, data: PAYLOAD }]);
  assert.deepEqual(ids(), [1]);
});

test('a text frame in place of an attachment closes the connection', () => {
  const { sink, feed, copies } = noting();
  feed(Buffer.concat([attached(1), attached(2)]));
  assert.equal(sink.all('closed')[0]?.reason, 'parse error');
  assert.deepEqual(copies, []);
});

test('finds event names and requested acknowledgements without decoding the packet', () => {
  const name = (packet: string) => eventName(Buffer.from(`42${packet}`), 2, packet.length + 2);
  assert.deepEqual(['["hello",1]', '/chat,5["hello"]'].map(name), ['hello', 'hello']);
  for (const packet of ['["a\\"b"]', '[1]', '["unfinished']) assert.equal(name(packet), undefined, packet);
  const request = (packet: string) => ackRequest(Buffer.from(`99${packet}17["stale"]`), 2, 2 + packet.length);
  assert.deepEqual(request('17["a"]'), { namespace: '/', id: 17 });
  assert.deepEqual(request('/chat,17["a"]'), { namespace: '/chat', id: 17 });
  for (const packet of ['["a"]', '/chat,["a"]', '/v2,["a"]', '']) assert.equal(request(packet), undefined, packet);
});

testBoth('counts the same event and id in another namespace as another broadcast', (noting) => {
  const { send, ids } = noting(CHAT);
  for (const head of ['', '/a,', '', '/a,', '/b,', '/ab,', '/a,7', '/a,']) send(`2${head}["chat",{"id":"x"}]`);
  // Sends names with escapes, which only the decoder reads.
  send('2/a,["\\u0063hat",{"id":"x"}]', '2["\\u0063hat",{"id":"x"}]');
  const namespaces = ['/', '/a', '/', '/a', '/b', '/ab', '/a', '/a', '/a', '/'];
  const expected = namespaces.map((one) => idIn(one, 'x'));
  assert.deepEqual(ids(), expected);
  send(`2/${'n'.repeat(5000)},["chat",{"id":"x"}]`);
  assert.ok(String(ids().at(-1)).length < 500);
  // The run's own broadcasts count in its room, in the namespace of the flow.
  const own = noting();
  own.send(`2/a,${broadcast(3)}`, `2${broadcast(3)}`);
  assert.deepEqual(own.ids(), [3, 3]);
});
