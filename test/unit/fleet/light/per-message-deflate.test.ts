/**
 * Tests compressed messages with every compression option that a server can accept. zlib's own streams play the server.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import {
  type DeflateGrant,
  PerMessageDeflate,
  readDeflateGrant,
} from '../../../../plugin/fleet/light/deflate/per-message-deflate.ts';
import { ProtocolError } from '../../../../plugin/fleet/light/protocol-error.ts';
import { encodeMessage } from '../../../../plugin/fleet/light/websocket/frames.ts';
import { collectGarbage } from '../../../../server/control/worker-stats.ts';
import { assertEach } from '../../../helpers/columns.ts';
import { BINARY, CLOSE, frameReader, PING, serverFrame, TEXT } from '../../../helpers/fake-wire.ts';
import { randomSource } from '../../../helpers/random-source.ts';

const MAX_BYTES = 200_000;
const RSV1 = 0x40;
const TAIL = Buffer.of(0, 0, 0xff, 0xff);
const NOTHING: DeflateGrant = {
  serverNoContextTakeover: false,
  clientNoContextTakeover: false,
  serverMaxWindowBits: 15,
  clientMaxWindowBits: 15,
};

/**
 * Returns the compressor of a server. Each message uses the earlier ones as its dictionary, or is compressed
 * independently.
 */
function serverSide({ serverNoContextTakeover, serverMaxWindowBits: windowBits }: DeflateGrant) {
  let before = Buffer.alloc(0);
  return (message: Buffer): Buffer => {
    const dictionary = serverNoContextTakeover ? undefined : before.subarray(-(2 ** windowBits - 262));
    const options = { windowBits, finishFlush: constants.Z_SYNC_FLUSH, ...(dictionary?.length && { dictionary }) };
    before = Buffer.concat([before, message]);
    return deflateRawSync(message, options).subarray(0, -TAIL.length);
  };
}

/** Returns the decompressor of a server. */
function clientMessages({ clientNoContextTakeover }: DeflateGrant) {
  let before = Buffer.alloc(0);
  return (payload: Buffer): Buffer => {
    const dictionary = clientNoContextTakeover ? undefined : before.subarray(-(2 ** 15));
    const options = { finishFlush: constants.Z_SYNC_FLUSH, ...(dictionary?.length && { dictionary }) };
    const message = inflateRawSync(Buffer.concat([payload, TAIL]), options);
    before = Buffer.concat([before, message]);
    return message;
  };
}

const decoderOf = (grant: DeflateGrant | undefined) => frameReader(MAX_BYTES, grant && new PerMessageDeflate(grant));

function payloadOf(frame: Buffer): Buffer {
  const lengthBytes = { 126: 2, 127: 8 }[frame.readUInt8(1) & 0x7f] ?? 0;
  return frame.subarray(2 + lengthBytes + 4);
}

const GRANTS = [false, true].flatMap((serverNoContextTakeover) =>
  [false, true].flatMap((clientNoContextTakeover) =>
    [8, 9, 12, 15].map((bits) => ({
      serverNoContextTakeover,
      clientNoContextTakeover,
      serverMaxWindowBits: bits === 8 ? 9 : bits,
      clientMaxWindowBits: bits,
    })),
  ),
);

const words = ['room', 'user', 'ü', '{"id":1}', ' '];
function randomMessage(random: (below: number) => number): Buffer {
  if (random(3) === 0) return Buffer.from(Array.from({ length: random(5000) }, () => random(256)));
  return Buffer.from(Array.from({ length: random(4000) }, () => words[random(words.length)]).join(''));
}

test('decompresses a server’s messages with every compression setting that it can grant', () => {
  const random = randomSource(1);
  for (const grant of GRANTS) {
    const deflate = serverSide(grant);
    const one = decoderOf(grant);
    const sent: { opcode: number; payload: Buffer }[] = [];
    for (let count = 0; count < 30; count++) {
      const payload = randomMessage(random);
      const opcode = random(2) === 0 ? TEXT : BINARY;
      const isCompressed = random(4) > 0;
      const body = isCompressed ? deflate(payload) : payload;
      const cut = random(body.length + 1);
      const flag = isCompressed ? RSV1 : 0;
      const frames =
        random(2) === 0
          ? [serverFrame(flag | opcode, body)]
          : [
              serverFrame(flag | opcode, body.subarray(0, cut), false),
              serverFrame(PING, 'p'),
              serverFrame(0, body.subarray(cut)),
            ];
      const stream = Buffer.concat(frames);
      for (let at = 0; at < stream.length; ) {
        const size = 1 + random(stream.length);
        one.feed(stream.subarray(at, at + size));
        at += size;
      }
      sent.push({ opcode, payload });
    }
    assert.deepEqual(
      one.messages.filter(({ opcode }) => opcode !== PING),
      sent,
      JSON.stringify(grant),
    );
  }
});

test('a server can decompress the client’s messages with every compression setting that it can grant', () => {
  const random = randomSource(2);
  for (const grant of GRANTS) {
    const deflate = new PerMessageDeflate(grant);
    const inflate = clientMessages(grant);
    const messages = Array.from({ length: 20 }, () => randomMessage(random));
    for (const message of [...messages, Buffer.alloc(1023), Buffer.alloc(1024)]) {
      const frame = encodeMessage(BINARY, message, deflate);
      const isCompressed = (frame.readUInt8(0) & RSV1) !== 0;
      assert.equal(isCompressed, message.length >= 1024);
      assert.deepEqual(isCompressed ? inflate(payloadOf(frame)) : payloadOf(frame), message, JSON.stringify(grant));
    }
  }
  const text = encodeMessage(TEXT, 'grüße '.repeat(500), new PerMessageDeflate(NOTHING));
  assert.equal(String(clientMessages(NOTHING)(payloadOf(text))), 'grüße '.repeat(500));
  assert.ok(text.length < 200);
  assert.equal(encodeMessage(TEXT, 'x'.repeat(5000), undefined).readUInt8(0), 0x80 | TEXT);
});

test('reads a compressed stream that ends inside the message, as RFC 7692 allows', () => {
  const { feed, messages } = decoderOf(NOTHING);
  // Example of section 7.2.3.4 of RFC 7692.
  const hello = Buffer.from('f348cdc9c9070000', 'hex');
  feed(serverFrame(RSV1 | TEXT, hello));
  feed(serverFrame(RSV1 | TEXT, hello));
  assertEach(messages, ({ payload }) => String(payload), ['Hello', 'Hello']);
  assert.throws(() => feed(serverFrame(RSV1 | TEXT, Buffer.concat([hello, hello]))), ProtocolError);
});

const compressed = (message: Buffer) => serverSide(NOTHING)(message);
const bomb = compressed(Buffer.alloc(50_000_000));

const violations: [string, Buffer[], DeflateGrant?][] = [
  ['compression that was not granted', [serverFrame(RSV1 | TEXT, compressed(Buffer.from('x')))]],
  ...[CLOSE, PING].map((opcode): [string, Buffer[], DeflateGrant] => [
    `RSV1 on a control frame (${opcode})`,
    [serverFrame(RSV1 | opcode, '')],
    NOTHING,
  ]),
  ['RSV1 on a continuation', [serverFrame(TEXT, 'a', false), serverFrame(RSV1, 'b')], NOTHING],
  ['RSV2', [serverFrame(0x20 | TEXT, 'x')], NOTHING],
  ['RSV3 beside RSV1', [serverFrame(0x50 | TEXT, 'x')], NOTHING],
  ['data that is not compressed', [serverFrame(RSV1 | TEXT, Buffer.alloc(100, 0xff))], NOTHING],
  ['an empty message', [serverFrame(RSV1 | TEXT, '')], NOTHING],
];
for (const [name, frames, grant] of violations) {
  test(`refuses a compressed WebSocket stream with ${name}`, () => {
    const { feed, messages } = decoderOf(grant);
    assert.throws(
      () => feed(Buffer.concat(frames)),
      (error: ProtocolError) => error.failure.cause === 'not_websocket' && error.reason === 'transport error',
    );
    assert.deepEqual(messages, []);
  });
}

test('the size limit applies to the decompressed message, and a zip bomb is not decompressed further', () => {
  const { feed, messages } = decoderOf(NOTHING);
  feed(serverFrame(RSV1 | BINARY, compressed(Buffer.alloc(MAX_BYTES))));
  assert.equal(messages[0]?.payload.length, MAX_BYTES);
  const before = process.memoryUsage().arrayBuffers;
  for (const message of [compressed(Buffer.alloc(MAX_BYTES + 1)), bomb]) {
    assert.throws(
      () => decoderOf(NOTHING).feed(serverFrame(RSV1 | BINARY, message)),
      ({ failure }: ProtocolError) => failure.cause === 'message_too_large',
    );
  }
  assert.ok(process.memoryUsage().arrayBuffers - before < 2_000_000);
});

test('a connection keeps no more than the compression window of a large message, in either direction', () => {
  const MESSAGE_BYTES = 4_000_000;
  const payload = serverSide(NOTHING)(Buffer.alloc(MESSAGE_BYTES));
  const before = process.memoryUsage().arrayBuffers;
  const connections = Array.from({ length: 10 }, () => new PerMessageDeflate(NOTHING));
  for (const connection of connections) {
    connection.inflate(payload, 0, payload.length, MESSAGE_BYTES);
    connection.deflate(Buffer.alloc(MESSAGE_BYTES));
  }
  collectGarbage();
  assert.ok(process.memoryUsage().arrayBuffers - before < MESSAGE_BYTES);
  assert.equal(connections.length, 10);
});

test('accepts valid compression settings in a server’s handshake, and refuses invalid settings', () => {
  const grant = (header: string) => readDeflateGrant(header);
  assert.deepEqual(grant('permessage-deflate'), NOTHING);
  assert.deepEqual(
    grant(
      ' permessage-deflate ;server_no_context_takeover; client_no_context_takeover;server_max_window_bits="10"; client_max_window_bits=8 ',
    ),
    {
      serverNoContextTakeover: true,
      clientNoContextTakeover: true,
      serverMaxWindowBits: 10,
      clientMaxWindowBits: 8,
    },
  );
  const wrong = [
    'x-webkit-deflate-frame',
    'permessage-deflate, permessage-deflate',
    'permessage-deflate, x',
    'permessage-deflate; client_max_window_bits',
    'permessage-deflate; server_max_window_bits=7',
    'permessage-deflate; server_max_window_bits=16',
    'permessage-deflate; server_max_window_bits=010',
    'permessage-deflate; server_no_context_takeover=1',
    'permessage-deflate; server_no_context_takeover; server_no_context_takeover',
    'permessage-deflate; level=9',
    'permessage-deflate;',
  ];
  for (const header of wrong) assert.throws(() => grant(header), ProtocolError, header);
});
