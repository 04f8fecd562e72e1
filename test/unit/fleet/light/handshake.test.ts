import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineIoRequestTarget } from '../../../../plugin/fleet/light/engine-io/engine-io-handshake.ts';
import {
  parseEndpoint,
  planUpgrade,
  upgradeRequest,
} from '../../../../plugin/fleet/light/websocket/websocket-handshake.ts';
import { fakeConnection } from '../../../helpers/fake-wire.ts';
import { clientOptions } from '../../../helpers/recording-sink.ts';

function request(overrides: Parameters<typeof clientOptions>[0]): string {
  const options = clientOptions(overrides);
  return upgradeRequest(planUpgrade(options, engineIoRequestTarget(options, 'websocket')), 'KEY').toString('latin1');
}

test('parses the endpoint of a WebSocket URL', () => {
  const [host, servername] = ['a.example', 'a.example'];
  assert.deepEqual(parseEndpoint('http://a.example'), { secure: false, host, port: 80, servername });
  assert.deepEqual(parseEndpoint('wss://[::1]:8443/x'), {
    secure: true,
    host: '::1',
    port: 8443,
    servername: undefined,
  });
  assert.throws(() => parseEndpoint('ftp://a.example'), { code: 'ERR_INVALID_PROTOCOL' });
  assert.throws(() => parseEndpoint('nonsense'), { code: 'ERR_INVALID_URL' });
});

test('the handshake request carries path, query and headers', () => {
  const text = request({
    url: 'http://a.example:81',
    path: '/my path/',
    query: { token: 'a&b', EIO: '3' },
    headers: { 'X-Id': '7', upgrade: 'h2c' },
  });
  const [first, ...lines] = text.split('\r\n');
  assert.equal(first, 'GET /my%20path/?token=a%26b&EIO=4&transport=websocket HTTP/1.1');
  for (const line of ['Host: a.example:81', 'X-Id: 7']) assert.ok(lines.includes(line), line);
  assert.doesNotMatch(text, /h2c/);
  assert.ok(text.endsWith('\r\n\r\n'));
});

test('a Host header of the user replaces the default header, and an invalid header is refused', () => {
  const text = request({ headers: { host: 'virtual.example' } });
  assert.equal(text.match(/^host:/gim)?.length, 1);
  assert.throws(() => request({ headers: { 'X-Id': 'a\r\nX-Evil: 1' } }), { code: 'ERR_INVALID_CHAR' });
});

/** Returns the response of the server to the upgrade. */
type Answer = (upgrade: string) => string;

/** @param pieceBytes size of the chunks of the response */
function failure(answer: Answer, pieceBytes = 1e6) {
  const { upgrade, sink, wire, feed } = fakeConnection();
  const bytes = Buffer.from(answer(upgrade.toString()));
  for (let at = 0; at < bytes.length; at += pieceBytes) feed(bytes.subarray(at, at + pieceBytes));
  const [failed, ...others] = sink.all('failed');
  assert.deepEqual([others, wire.state], [[], failed ? 'destroyed' : 'open']);
  return failed;
}

for (const [answer, cause, quoted] of [
  [
    'HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n{"code":0}',
    'http_400',
    'Bad Request, {"code":0}',
  ],
  ['HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 400 Bad Request\r\nX: 1\r\n\r\n', 'http_400', 'Bad Request'],
  ['HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n', 'http_502', 'Bad Gateway'],
  ['HTTP/1.1 200 OK\r\n\r\nhello', 'http_200', 'OK, hello'],
  ['HTTP/1.0 301\r\n\r\nmoved', 'http_301', 'moved'],
  ['HTTP/1.1 503 Busy\r\n\r\n<html>\n<head><title>503 Busy</title></head>', 'http_503', 'Busy'],
  ['HTTP/1.1 204 No Content\r\n\r\n', 'http_204', 'No Content'],
] as const) {
  test(`reports the status and quotes the body of an HTTP error, in chunks of any size: ${JSON.stringify(answer)}`, () => {
    for (const pieceBytes of [1, 7, 60, 1000]) {
      const failed = failure(() => answer, pieceBytes);
      assert.equal(failed?.cause, cause);
      if (pieceBytes === 1000) assert.ok(failed?.message.endsWith(quoted), failed?.message);
    }
  });
}

test('refuses an HTTP answer that is no WebSocket handshake', () => {
  const answers: Answer[] = [
    () => 'SSH-2.0-OpenSSH\r\n',
    () => 'HTTP/1.1 1o1\r\n\r\n',
    () => 'HTTP/2 200\r\n\r\n',
    () => `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`,
    (upgrade) => upgrade.replace('Upgrade: websocket', 'Upgrade: h2c'),
    (upgrade) => upgrade.replace(/Accept: .*=/, 'Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA='),
    (upgrade) => upgrade.replace('Connection: Upgrade', 'Sec-WebSocket-Extensions: permessage-deflate'),
    (upgrade) => upgrade.replace('\r\n\r\n', '\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n'),
    (upgrade) => upgrade.replace(/Accept: (.*=)/, 'Accept: $1$1'),
  ];
  const right: Answer = (upgrade) => upgrade;
  for (const answer of answers) {
    assert.equal(failure(right), undefined);
    assert.equal(failure(answer)?.cause, 'not_websocket', String(answer));
  }
  assert.equal(failure((upgrade) => upgrade.replace('101', '204'))?.cause, 'http_204');
});
