import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtocolError } from '../../../../plugin/fleet/light/protocol-error.ts';
import { closeCode, encodeClose, encodeFrame } from '../../../../plugin/fleet/light/websocket/frames.ts';
import { assertEach } from '../../../helpers/columns.ts';
import { clientFrames, frameReader, PING, serverFrame, TEXT } from '../../../helpers/fake-wire.ts';

const MAX_BYTES = 1024 ** 2;

const decode = (...chunks: Buffer[]) =>
  frameReader()
    .feed(...chunks)
    .map(({ opcode, payload }) => ({ opcode, payload: String(payload) }));

test('reads WebSocket frames of every length encoding', () => {
  for (const size of [0, 1, 125, 126, 127, 65_535, 65_536, 200_000]) {
    const payload = 'p'.repeat(size);
    assert.deepEqual(decode(serverFrame(TEXT, payload)), [{ opcode: TEXT, payload }]);
    assert.deepEqual(clientFrames([encodeFrame(TEXT, payload)]), [{ opcode: TEXT, payload }]);
  }
});

test('joins fragments of a WebSocket message, with control frames in between', () => {
  const frames = [
    serverFrame(TEXT, 'one ', false),
    serverFrame(PING, '!'),
    serverFrame(0, 'two ', false),
    serverFrame(0, 'three'),
    serverFrame(TEXT, 'four'),
  ];
  assert.deepEqual(decode(Buffer.concat(frames)), [
    { opcode: PING, payload: '!' },
    { opcode: TEXT, payload: 'one two three' },
    { opcode: TEXT, payload: 'four' },
  ]);
});

test('stops reading frames when the handler returns false, even inside a split frame', () => {
  const stream = Buffer.concat([serverFrame(TEXT, 'first'), serverFrame(TEXT, 'second')]);
  for (const chunks of [[stream], [stream.subarray(0, 3), stream.subarray(3)]]) {
    assertEach(frameReader(MAX_BYTES, undefined, 1).feed(...chunks), ({ payload }) => String(payload), ['first']);
  }
});

const header64 = (size: number) => {
  const bytes = Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  bytes.writeBigUInt64BE(BigInt(size), 2);
  return bytes;
};

const violations: [string, Buffer][] = [
  ['reserved bits', Buffer.from([0xc1, 0x00])],
  ['a masked frame', Buffer.from([0x81, 0x80, 0, 0, 0, 0])],
  ['an unknown opcode', Buffer.from([0x83, 0x00])],
  ['an unknown control opcode', Buffer.from([0x8b, 0x00])],
  ['a fragmented control frame', Buffer.from([0x09, 0x00])],
  ['a long control frame', Buffer.from([0x89, 126, 0, 200])],
  ['a continuation without a message', serverFrame(0, 'x')],
  ['a message inside a fragmented one', Buffer.concat([serverFrame(TEXT, 'a', false), serverFrame(TEXT, 'b')])],
  ['a continuation marked as compressed', Buffer.from([0xc0, 0x00])],
  ['a control frame marked as compressed', Buffer.from([0xc9, 0x00])],
  ['a frame over the limit', header64(MAX_BYTES + 1)],
  ['an absurd length', header64(2 ** 62)],
];

for (const [name, bytes] of violations) {
  test(`refuses a WebSocket stream with ${name}`, () => {
    assert.throws(() => decode(bytes), ProtocolError);
    assert.throws(() => decode(...[...bytes].map((byte) => Buffer.from([byte]))), ProtocolError);
  });
}

/** Memory that is held for incomplete frames. */
const HELD: Record<string, [frames: Buffer[], atLeast: number, atMost: number, discarded?: true]> = {
  'received bytes rather than the announced length': [[header64(64 * MAX_BYTES)], 10, MAX_BYTES],
  'the beginning of a frame': [[serverFrame(TEXT, 'one').subarray(0, 4)], 4, 14],
  'no complete frame': [[serverFrame(TEXT, 'one').subarray(0, 4), serverFrame(TEXT, 'one').subarray(4)], 0, 0],
  'fragments of a message': [[serverFrame(TEXT, 'one ', false)], 4, 14],
  'no complete fragments': [[serverFrame(TEXT, 'one ', false), serverFrame(0, 'two')], 0, 0],
  'no discarded data': [
    [serverFrame(TEXT, 'one ', false), serverFrame(0, 'two').subarray(0, 3)],
    ...([0, 0, true] as const),
  ],
};
for (const [name, [frames, atLeast, atMost, discarded]] of Object.entries(HELD)) {
  test(`the frame reader holds memory for ${name}`, () => {
    const { decoder, budget, feed } = frameReader(64 * MAX_BYTES);
    feed(...frames);
    if (discarded) decoder.discard();
    const { usedBytes } = budget;
    assert.ok(usedBytes >= atLeast && usedBytes <= atMost, `${usedBytes}`);
  });
}

test('reads and writes WebSocket close codes', () => {
  const code = (...bytes: number[]) => closeCode(Buffer.from(bytes), 0, bytes.length);
  assert.equal(code(), 1005);
  assert.equal(code(0x03, 0xe8), 1000);
  assert.equal(code(0x0f, 0xa0, 0x62), 4000);
  for (const valid of [1000, 1003, 1007, 1014, 3000, 4999]) assert.equal(code(valid >> 8, valid & 0xff), valid);
  for (const invalid of [
    [3],
    [0, 0],
    ...[999, 1004, 1005, 1006, 1015, 2000, 2999, 5000].map((n) => [n >> 8, n & 0xff]),
  ]) {
    assert.throws(() => code(...invalid), ProtocolError);
  }
  const within = Buffer.from([0, 0, 0x03, 0xe8, 0]);
  assert.equal(closeCode(within, 2, 4), 1000);
  assert.deepEqual([...encodeClose().subarray(0, 2)], [0x88, 0x80]);
  assert.deepEqual([...encodeClose(1000)], [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
});

test('encodes the length of a client frame in the fewest bytes', () => {
  for (const [size, header] of [
    [125, [0x81, 0x80 | 125]],
    [126, [0x81, 0x80 | 126, 0, 126]],
    [65_535, [0x81, 0x80 | 126, 0xff, 0xff]],
    [65_536, [0x81, 0x80 | 127, 0, 0, 0, 0, 0, 1, 0, 0]],
  ] as const) {
    for (const payload of ['é'.repeat(size >> 1) + 'e'.repeat(size & 1), Buffer.alloc(size)]) {
      const frame = encodeFrame(TEXT, payload);
      assert.deepEqual([...frame.subarray(0, header.length + 4)], [...header, 0, 0, 0, 0]);
      assert.equal(frame.length, header.length + 4 + size);
    }
  }
});

test('frame limits are inclusive: a control frame of 125 bytes, and the largest message in one or two pieces', () => {
  const decoded = (maxBytes: number, ...frames: Buffer[]) =>
    frameReader(maxBytes)
      .feed(Buffer.concat(frames))
      .map(({ payload }) => payload.length);
  const [begin, end] = [serverFrame(TEXT, 'a'.repeat(60), false), serverFrame(0, 'b'.repeat(40))];
  for (const opcode of [8, 9, 10]) assert.deepEqual(decoded(10, serverFrame(opcode, 'p'.repeat(125))), [125]);
  assert.deepEqual(decoded(100, serverFrame(TEXT, 'p'.repeat(100))), [100]);
  assert.deepEqual(decoded(100, begin, end), [100]);
  assert.throws(() => decoded(99, serverFrame(TEXT, 'p'.repeat(100))), ProtocolError);
  assert.throws(() => decoded(99, begin, end), ProtocolError);
  assert.throws(() => decoded(100, Buffer.from([0x08, 0])), ProtocolError, 'a fragmented close frame');
});
