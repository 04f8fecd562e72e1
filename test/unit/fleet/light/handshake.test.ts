import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetOf } from '../../../../plugin/fleet/light/engine-io/handshake.ts';
import {
  endpointOf,
  newChallenge,
  planUpgrade,
  upgradeRequest,
} from '../../../../plugin/fleet/light/websocket/handshake.ts';
import { type FakeConnection, fakeConnection } from '../../../helpers/fake-wire.ts';
import { clientOptions } from '../../../helpers/recording-sink.ts';

function request(overrides: Parameters<typeof clientOptions>[0]): string {
  const options = clientOptions(overrides);
  return upgradeRequest(planUpgrade(options, targetOf(options, 'websocket')), 'KEY').toString('latin1');
}

test('endpoints', () => {
  assert.deepEqual(endpointOf('http://a.example'), {
    secure: false,
    host: 'a.example',
    port: 80,
    servername: 'a.example',
  });
  assert.deepEqual(endpointOf('wss://[::1]:8443/x'), { secure: true, host: '::1', port: 8443, servername: undefined });
  assert.throws(() => endpointOf('ftp://a.example'), { code: 'ERR_INVALID_PROTOCOL' });
  assert.throws(() => endpointOf('nonsense'), { code: 'ERR_INVALID_URL' });
});

test('the request carries path, query and headers', () => {
  const text = request({
    url: 'http://a.example:81',
    path: '/my path',
    query: { token: 'a&b', EIO: '3' },
    headers: { 'X-Id': '7', upgrade: 'h2c' },
  });
  assert.ok(text.startsWith('GET /my%20path/?token=a%26b&EIO=4&transport=websocket HTTP/1.1\r\n'), text);
  assert.match(text, /\r\nHost: a\.example:81\r\n/);
  assert.match(text, /\r\nX-Id: 7\r\n/);
  assert.doesNotMatch(text, /h2c/);
  assert.ok(text.endsWith('\r\n\r\n'));
});

test('a Host header of the user replaces our own; a header that would break the request is refused', () => {
  const text = request({ headers: { host: 'virtual.example' } });
  assert.equal(text.match(/^host:/gim)?.length, 1);
  assert.throws(() => request({ headers: { 'X-Id': 'a\r\nX-Evil: 1' } }), { code: 'ERR_INVALID_CHAR' });
});

function failure(answer: string | ((upgrade: string) => string)) {
  const fake = fakeConnection();
  fake.feed(Buffer.from(typeof answer === 'string' ? answer : answer(fake.upgrade.toString())));
  assert.equal(fake.wire.state, fake.sink.all('failed').length === 1 ? 'destroyed' : 'open');
  return fake.sink.all('failed')[0];
}

test('HTTP errors name the status and quote the answer', () => {
  assert.deepEqual(failure('HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n{"code":0}'), {
    on: 'failed',
    cause: 'http_400',
    message: 'the server answered 400 Bad Request, {"code":0}',
  });
  assert.equal(failure('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n')?.cause, 'http_502');
  assert.equal(failure('HTTP/1.1 200 OK\r\n\r\nhello')?.cause, 'http_200');
  assert.equal(failure('HTTP/1.0 301\r\n\r\n<html>')?.cause, 'http_301');
  assert.equal(failure('HTTP/1.1 204 No Content\r\n\r\n')?.cause, 'http_204');
});

const REFUSAL = 'HTTP/1.1 400 Bad Request\r\n';
const PIECES: [string, ...string[]][] = [
  [`${REFUSAL}Content-Length: 9\r\n\r\n`, 'no rüm'],
  [`${REFUSAL}\r\n`, '\r\n', 'no rüm'],
  [`${REFUSAL}Transfer-Encoding: chunked\r\n\r\n`, '7', '\r\n', 'no rüm'],
  [REFUSAL, '\r\n', 'no rüm', 'and more'],
];

test('what the server says of its refusal can come after the head, in any pieces', () => {
  for (const pieces of PIECES) {
    const { sink, feed, wire } = fakeConnection();
    for (const piece of pieces) {
      assert.equal(wire.state, sink.all('failed').length === 0 ? 'open' : 'destroyed');
      if (wire.state === 'open') feed(Buffer.from(piece));
    }
    assert.deepEqual(
      sink.all('failed').map(({ cause, message }) => [cause, message]),
      [['http_400', 'the server answered 400 Bad Request, no rüm']],
    );
  }
});

test('a refusal without a word more fails as a refusal, however it ends', async () => {
  const ends: ((fake: FakeConnection) => void)[] = [
    ({ connection }) => connection.onWireClosed(),
    ({ connection }) => connection.onWireError(Object.assign(new Error('reset'), { code: 'ECONNRESET' })),
    ({ connection }) => connection.onDeadline(),
  ];
  for (const end of ends) {
    const fake = fakeConnection(['/'], { connectTimeoutMs: 20_000 });
    fake.feed(Buffer.from(`${REFUSAL}\r\n`));
    assert.deepEqual(fake.sink.all('failed'), []);
    end(fake);
    assert.deepEqual(
      fake.sink.all('failed').map(({ cause, message }) => [cause, message]),
      [['http_400', 'the server answered 400 Bad Request']],
    );
  }
});

test('the wait for the body is short, and never longer than that for the connection', () => {
  const waitMs = (connectTimeoutMs: number) => {
    const { connection, feed } = fakeConnection(['/'], { connectTimeoutMs });
    const beforeMs = connection.deadlineMs;
    feed(Buffer.from(`${REFUSAL}\r\n`));
    return connectTimeoutMs - (beforeMs - connection.deadlineMs);
  };
  assert.ok(waitMs(20_000) <= 1100, String(waitMs(20_000)));
  assert.equal(waitMs(100), 100);
});

test('an answer that is no WebSocket handshake', () => {
  const cases: (string | ((upgrade: string) => string))[] = [
    'SSH-2.0-OpenSSH\r\n',
    'HTTP/1.1 1o1\r\n\r\n',
    'HTTP/2 200\r\n\r\n',
    `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`,
    (upgrade) => upgrade.replace('Upgrade: websocket', 'Upgrade: h2c'),
    (upgrade) => upgrade.replace(/Accept: .*=/, 'Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA='),
    (upgrade) => upgrade.replace('\r\n\r\n', '\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n'),
  ];
  for (const answer of cases) assert.equal(failure(answer)?.cause, 'not_websocket');
});

test('an answer like the right one before it is looked at as closely', () => {
  const ways: ((upgrade: string) => string)[] = [
    (upgrade) => upgrade.replace(/Accept: .*=/, 'Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA='),
    (upgrade) => upgrade.replace('Connection: Upgrade', 'Sec-WebSocket-Extensions: permessage-deflate'),
    (upgrade) => upgrade.replace(/Accept: (.*=)/, 'Accept: $1$1'),
    (upgrade) => upgrade.replace('101', '204'),
  ];
  for (const change of ways) {
    assert.equal(
      failure((upgrade) => upgrade),
      undefined,
    );
    assert.match(String(failure(change)?.cause), /^(not_websocket|http_204)$/);
  }
});

test('every connection has a key of its own', () => {
  const keys = Array.from({ length: 600 }, () => newChallenge().key);
  assert.equal(new Set(keys).size, 600);
  for (const key of keys) assert.equal(Buffer.from(key, 'base64').length, 16);
});

test('interim answers are passed over', () => {
  assert.equal(
    failure((upgrade) => `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${upgrade}`),
    undefined,
  );
});
