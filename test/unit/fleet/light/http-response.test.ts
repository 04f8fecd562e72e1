import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferBudget } from '../../../../plugin/fleet/light/buffer-budget.ts';
import { failureOfResponse, HttpResponseReader } from '../../../../plugin/fleet/light/http/http-response.ts';
import { POLLING_RESPONSE } from '../../../../plugin/fleet/light/polling/http-connection.ts';
import { ProtocolError } from '../../../../plugin/fleet/light/protocol-error.ts';

const MAX_BYTES = 1000;
const BODY = '40{"sid":"ü"}';
const LENGTH = `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`;
const CHUNKED = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n40{\r\nB;x=y\r\n"sid":"ü"}\r\n0\r\nTrailer: 1\r\n\r\n`;
const UNTIL_CLOSE = `HTTP/1.0 200 OK\r\n\r\n${BODY}`;

const newReader = () => new HttpResponseReader(POLLING_RESPONSE, new BufferBudget());

/** @returns status, body and whether the connection is kept, for chunks of this size */
function read(reader: HttpResponseReader, answer: string, pieceBytes = 1e6) {
  const bytes = Buffer.from(answer);
  const summaryOf = (read: ReturnType<HttpResponseReader['read']>) =>
    read && [read.head.status, read.body.toString('utf8', read.start, read.end), read.head.keepsAlive];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.subarray(at, at + pieceBytes);
    const whole = reader.read(Buffer.concat([piece, Buffer.from('\x1eold\r\n\r\n')]), 0, piece.length, MAX_BYTES);
    if (whole) return summaryOf(whole);
  }
  return summaryOf(reader.ended());
}

for (const pieceBytes of [1, 2, 7, 1000]) {
  test(`reads consecutive HTTP bodies of every kind, in pieces of ${pieceBytes} bytes`, () => {
    const reader = newReader();
    const CONTINUED = `HTTP/1.1 100 Continue\r\n\r\n${LENGTH}`;
    for (const answer of [LENGTH, CHUNKED, CONTINUED, LENGTH, CHUNKED, CONTINUED])
      assert.deepEqual(read(reader, answer, pieceBytes), [200, BODY, true]);
    assert.deepEqual(read(reader, UNTIL_CLOSE, pieceBytes), [200, BODY, false]);
  });
}

test('reads from an HTTP response its cookies and whether the connection stays open', () => {
  for (const [head, isKept] of [
    ['HTTP/1.1 200 OK\r\nConnection: close', false],
    ['HTTP/1.0 200 OK', false],
    ['HTTP/1.0 200 OK\r\nConnection: Keep-Alive', true],
  ]) {
    assert.equal(read(newReader(), `${head}\r\nContent-Length: 2\r\n\r\nok`)?.at(-1), isKept);
  }
  const cookies = 'set-cookie: a=1; Path=/\r\nSet-Cookie: b=2';
  const answer = Buffer.from(`HTTP/1.1 200 OK\r\n${cookies}\r\nContent-Length: 0\r\n\r\n`);
  const { head } = newReader().read(answer, 0, answer.length, MAX_BYTES) ?? {};
  assert.deepEqual(head?.headers.get('set-cookie'), ['a=1; Path=/', 'b=2']);
});

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKS = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const CHUNK = `3e0\r\n${'x'.repeat(992)}\r\n`;
const REFUSED: [what: string, answer: string, cause?: string][] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9\r\n'],
  ['no status', 'HTTP/1.1 OK\r\n\r\n'],
  ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a negative length', `${OK}Content-Length: -1\r\n\r\n`],
  ['two lengths', `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`],
  ['a body longer than its length', `${OK}Content-Length: 1\r\n\r\nok`],
  ['a transfer encoding', `${OK}Transfer-Encoding: gzip\r\n\r\n`],
  ['a content encoding', `${OK}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok`],
  ['a chunk without a size', `${CHUNKS}not a size\r\n`],
  ['bytes after the last chunk', `${CHUNKS}0\r\n\r\nmore`],
  ['a long header', `${OK}X: ${'x'.repeat(20_000)}`],
  ['a long body', `${OK}Content-Length: 1001\r\n\r\n`, 'message_too_large'],
  ['a long body until the close', `${OK}\r\n${'x'.repeat(1001)}`, 'message_too_large'],
  ['many chunks', `${CHUNKS}${CHUNK}${CHUNK}`, 'message_too_large'],
];
for (const [what, answer, cause = 'not_http'] of REFUSED) {
  test(`refuses an HTTP answer with ${what}`, () => {
    const isIt = (error: unknown) => error instanceof ProtocolError && error.failure.cause === cause;
    assert.throws(() => read(newReader(), answer), isIt);
  });
}

const BAD_GATEWAY = 'HTTP/1.1 502 Bad Gateway\r\n';
for (const [head, body, quoted] of [
  [`${BAD_GATEWAY}Content-Length: 100000\r\n\r\n`, 'nginx', 'nginx'],
  [`${BAD_GATEWAY}Transfer-Encoding: chunked\r\n\r\n`, '5\r\nnginx', 'nginx'],
  [`${BAD_GATEWAY}Transfer-Encoding: chunked\r\n\r\n`, '5\r\nnginx\r\n0\r\n\r\n', 'nginx'],
  [`${BAD_GATEWAY}Transfer-Encoding: gzip\r\n\r\n`, 'nginx', 'nginx'],
  ['HTTP/1.1 204 No Content\r\n\r\n', '', ''],
] as const) {
  test(`quotes the first part of an HTTP refusal: ${JSON.stringify(head + body)}`, () => {
    const all = Buffer.from(head + body);
    const whole = newReader().read(all, 0, all.length, MAX_BYTES);
    assert.ok(whole && failureOfResponse(whole).message.endsWith(quoted));
    if (quoted === '') return;
    const slow = newReader();
    assert.equal(slow.read(all, 0, head.length, MAX_BYTES), undefined);
    assert.ok(slow.read(all, head.length, all.length, MAX_BYTES));
  });
}

test('reads an HTTP refusal with an empty chunked body to its end, and keeps the connection', () => {
  const refusal = 'HTTP/1.1 413 Payload Too Large\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
  const answer = newReader().read(Buffer.from(refusal), 0, refusal.length, MAX_BYTES);
  assert.equal(answer && failureOfResponse(answer).cause, 'http_413');
});
