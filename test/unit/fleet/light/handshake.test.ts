import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetOf } from '../../../../plugin/fleet/light/engine-io/handshake.ts';
import { endpointOf, planUpgrade, upgradeRequest } from '../../../../plugin/fleet/light/websocket/handshake.ts';
import { columns } from '../../../helpers/columns.ts';
import { fakeConnection } from '../../../helpers/fake-wire.ts';
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
test('a head that comes in any pieces', () => {
  for (const size of [1, 7, 60]) {
    const { sink, feed } = fakeConnection();
    const refusal = Buffer.from(`HTTP/1.1 103 Early Hints\r\n\r\n${REFUSAL}X: 1\r\n\r\n`);
    for (let at = 0; at < refusal.length; at += size) feed(refusal.subarray(at, at + size));
    assert.deepEqual(columns(sink.all('failed'), 'cause', 'message'), {
      cause: ['http_400'],
      message: ['the server answered 400 Bad Request'],
    });
  }
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
