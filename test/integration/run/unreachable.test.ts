/** What a run says when its own connections cannot poll. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { connectOfficial } from '../../../plugin/run/receivers/official-client.ts';
import { connectionTo } from '../../helpers/connection.ts';

const HANDSHAKE = '0{"sid":"a","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}';

for (const answer of ['{"code":1,"message":"Session ID unknown"}', '"Invalid session a"']) {
  test(`a worker that does not know the session, and answers ${answer}`, async (t) => {
    const http = createServer((request, response) => {
      const opens = !request.url?.includes('sid=');
      response.writeHead(opens ? 200 : 400).end(opens ? HANDSHAKE : answer);
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    t.after(() => http.close());
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const polling = { ...connectionTo(url), transports: ['polling' as const] };
    await assert.rejects(connectOfficial(polling, new AbortController().signal), ({ code, message, fix }) => {
      assert.equal(code, 'TARGET_UNREACHABLE');
      assert.ok(message.includes(answer), message);
      assert.match(fix, /sticky sessions/);
      return true;
    });
  });
}

test('nothing listens where a client wants to poll', async () => {
  const polling = { ...connectionTo('http://127.0.0.1:1'), transports: ['polling' as const] };
  await assert.rejects(connectOfficial(polling, new AbortController().signal), {
    code: 'TARGET_UNREACHABLE',
    message: /ECONNREFUSED/,
  });
});
