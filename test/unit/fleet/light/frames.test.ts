import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferBudget } from '../../../../plugin/fleet/light/buffer-budget.ts';
import { ProtocolError } from '../../../../plugin/fleet/light/protocol-error.ts';
import { closeCode, encodeFrame, FrameDecoder } from '../../../../plugin/fleet/light/websocket/frames.ts';
import { clientFrames, PING, serverFrame, TEXT } from '../../../helpers/fake-wire.ts';

const MAX_BYTES = 1024 ** 2;

function decode(...chunks: Buffer[]): { opcode: number; payload: string }[] {
  const messages: { opcode: number; payload: string }[] = [];
  const decoder = new FrameDecoder(new BufferBudget());
  const handler = {
    onFrame(opcode: number, bytes: Uint8Array, start: number, end: number) {
      messages.push({ opcode, payload: Buffer.from(bytes.subarray(start, end)).toString() });
      return true;
    },
  };
  for (const chunk of chunks) decoder.decode(chunk, 0, chunk.length, handler, MAX_BYTES);
  return messages;
}

test('payloads of every length encoding arrive', () => {
  for (const size of [0, 1, 125, 126, 127, 65_535, 65_536, 200_000]) {
    const payload = 'p'.repeat(size);
    assert.deepEqual(decode(serverFrame(TEXT, payload)), [{ opcode: TEXT, payload }]);
    assert.deepEqual(clientFrames([encodeFrame(TEXT, payload)]), [{ opcode: TEXT, payload }]);
  }
});

test('fragments are joined, with control frames in between', () => {
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

test('reading stops where the handler returns false', () => {
  const seen: number[] = [];
  const stream = Buffer.concat([serverFrame(TEXT, 'a'), serverFrame(TEXT, 'b')]);
  new FrameDecoder(new BufferBudget()).decode(
    stream,
    0,
    stream.length,
    { onFrame: (opcode) => seen.push(opcode) > 1 },
    MAX_BYTES,
  );
  assert.equal(seen.length, 1);
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
  ['a continuation of nothing', serverFrame(0, 'x')],
  ['a message inside a fragmented one', Buffer.concat([serverFrame(TEXT, 'a', false), serverFrame(TEXT, 'b')])],
  ['a frame over the limit', header64(MAX_BYTES + 1)],
  ['an absurd length', header64(2 ** 62)],
];

for (const [name, bytes] of violations) {
  test(`${name} is refused`, () => {
    assert.throws(() => decode(bytes), ProtocolError);
    assert.throws(() => decode(...[...bytes].map((byte) => Buffer.from([byte]))), ProtocolError);
  });
}

test('memory is set aside for what has arrived, not for what is announced', () => {
  const before = process.memoryUsage().arrayBuffers;
  const decoders = Array.from({ length: 20 }, () => new FrameDecoder(new BufferBudget()));
  for (const decoder of decoders) decoder.decode(header64(MAX_BYTES), 0, 10, { onFrame: () => true }, MAX_BYTES);
  assert.ok(process.memoryUsage().arrayBuffers - before < 20 * 2 * 1024 * 1024);
});

test('close codes', () => {
  const code = (...bytes: number[]) => closeCode(Buffer.from(bytes), 0, bytes.length);
  assert.equal(code(), 1005);
  assert.equal(code(0x03, 0xe8), 1000);
  assert.equal(code(0x0f, 0xa0, 0x62), 4000);
  for (const invalid of [[3], [0, 0], [0x03, 0xed], [0x03, 0xee], [0x07, 0xd0], [0x13, 0x88]]) {
    assert.throws(() => code(...invalid), ProtocolError);
  }
});
