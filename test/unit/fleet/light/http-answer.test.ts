import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { BufferBudget } from '../../../../plugin/fleet/light/buffer-budget.ts';
import { AnswerReader, refusalOf } from '../../../../plugin/fleet/light/http/answer.ts';
import { POLLING_ANSWER } from '../../../../plugin/fleet/light/polling/http-connection.ts';
import { ProtocolError } from '../../../../plugin/fleet/light/protocol-error.ts';

const MAX_BYTES = 1000;
const BODY = '40{"sid":"ü"}';
const LENGTH = `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`;
const CHUNKED = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n40{\r\nB;x=y\r\n"sid":"ü"}\r\n0\r\nTrailer: 1\r\n\r\n`;
const UNTIL_CLOSE = `HTTP/1.0 200 OK\r\n\r\n${BODY}`;

const newReader = () => new AnswerReader(POLLING_ANSWER, new BufferBudget());

/** @returns status, body and whether the connection is kept, however the answer is cut */
function read(reader: AnswerReader, answer: string, pieceBytes: number) {
  const bytes = Buffer.from(answer);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = Buffer.from(bytes.subarray(at, at + pieceBytes));
    // Older bytes follow, as in the shared read buffer.
    const read = reader.read(Buffer.concat([piece, Buffer.from('\x1eold\r\n\r\n')]), 0, piece.length, MAX_BYTES);
    if (read) return [read.head.status, read.body.toString('utf8', read.start, read.end), read.head.keepsAlive];
  }
  const last = reader.ended();
  return last && [last.head.status, last.body.toString('utf8', last.start, last.end), last.head.keepsAlive];
}

function failure(answer: string): string {
  try {
    read(newReader(), answer, 1000);
  } catch (error) {
    return error instanceof ProtocolError ? error.failure.cause : String(error);
  }
  return 'none';
}

suite('AnswerReader', () => {
  test('reads bodies of every kind, cut anywhere, one after the other', () => {
    for (const pieceBytes of [1, 2, 7, 1000]) {
      const reader = newReader();
      for (let round = 0; round < 2; round++) {
        assert.deepEqual(read(reader, LENGTH, pieceBytes), [200, BODY, true]);
        assert.deepEqual(read(reader, CHUNKED, pieceBytes), [200, BODY, true]);
        assert.deepEqual(read(reader, `HTTP/1.1 100 Continue\r\n\r\n${LENGTH}`, pieceBytes), [200, BODY, true]);
      }
      assert.deepEqual(read(reader, UNTIL_CLOSE, pieceBytes), [200, BODY, false]);
    }
  });

  test('tells whether the connection is kept, and which cookies were set', () => {
    const kept = (head: string) => read(newReader(), `${head}\r\nContent-Length: 2\r\n\r\nok`, 1000)?.at(-1);
    assert.equal(kept('HTTP/1.1 200 OK\r\nConnection: close'), false);
    assert.equal(kept('HTTP/1.0 200 OK'), false);
    assert.equal(kept('HTTP/1.0 200 OK\r\nConnection: Keep-Alive'), true);
    const answer = Buffer.from(
      'HTTP/1.1 200 OK\r\nset-cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n',
    );
    const { head } = newReader().read(answer, 0, answer.length, MAX_BYTES) ?? {};
    assert.deepEqual(head?.headers.get('set-cookie'), ['a=1; Path=/', 'b=2']);
  });

  test('refuses what is not HTTP, or not what was announced', () => {
    const broken = [
      'SSH-2.0-OpenSSH_9\r\n',
      'HTTP/1.1 OK\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nok',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore',
    ];
    for (const answer of broken) assert.equal(failure(answer), 'not_http', answer);
    assert.equal(failure(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`), 'not_http');
  });

  test('takes the first that is said with a refusal, in any pieces, and no more', () => {
    const refusals: [string, string][] = [
      ['HTTP/1.1 502 Bad Gateway\r\nContent-Length: 100000\r\n\r\nnginx', 'nginx'],
      ['HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nnginx', 'nginx'],
      ['HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nnginx\r\n0\r\n\r\n', 'nginx'],
      ['HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: gzip\r\n\r\nnginx', 'nginx'],
      ['HTTP/1.1 204 No Content\r\n\r\n', ''],
    ];
    for (const [bytes, said] of refusals) {
      const reader = newReader();
      const all = Buffer.from(bytes);
      const whole = reader.read(all, 0, all.length, MAX_BYTES);
      assert.ok(whole && refusalOf(whole).message.endsWith(said), bytes);
      const slow = newReader();
      const head = all.indexOf('\r\n\r\n') + 4;
      if (said !== '') assert.equal(slow.read(all, 0, head, MAX_BYTES), undefined);
      assert.ok(said === '' || slow.read(all, head, all.length, MAX_BYTES));
    }
  });

  test('holds no more than it may', () => {
    const chunk = `3e0\r\n${'x'.repeat(992)}\r\n`;
    assert.equal(failure('HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n'), 'message_too_large');
    assert.equal(failure(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1001)}`), 'message_too_large');
    assert.equal(failure(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${chunk}`), 'message_too_large');
  });
});
