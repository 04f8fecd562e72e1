/** Tests that cookies from an HTTP step of the flow are sent in the handshake, by the rules of browsers. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadHttpEngine } from '../../../plugin/virtual-user/artillery-types.ts';
import { listen } from '../../helpers/listen.ts';
import { Bench } from '../../helpers/virtual-user.ts';

/** Plays a virtual user that logs in at a server with these cookies, and plays the rest of the flow. */
async function loggedIn(
  t: TestContext,
  cookies: string[],
  flow: unknown[],
  options = {},
  origin = (url: string) => url,
) {
  const { url, close } = await listen((_request, response) => response.setHeader('Set-Cookie', cookies).end());
  t.after(close);
  const bench = new Bench(options, {}, origin(url));
  bench.engine.http = await loadHttpEngine({ config: { target: url } });
  await bench.passes([{ get: { url: '/auth/login' } }, ...flow]);
  return bench.fleet.connections.flatMap(({ overrides }) => overrides.map((one) => one?.headers));
}

const cases: [what: string, cookie: string, sent?: string][] = [
  ['a cookie of the whole site', 'session=abc; Path=/; HttpOnly', 'session=abc'],
  ['a cookie without a path, for its own folder', 'session=abc'],
  ['a cookie for the handshake’s path', 'session=abc; Path=/socket.io', 'session=abc'],
  ['a cookie for another path', 'session=abc; Path=/admin'],
  ['a cookie for TLS only', 'session=abc; Path=/; Secure'],
  ['an expired cookie', 'session=abc; Path=/; Max-Age=0'],
  ['a cookie for another site', 'session=abc; Path=/; Domain=example.com'],
];

for (const [what, cookie, sent] of cases) {
  test(`${what} is ${sent ? '' : 'not '}sent with the handshake`, async (t) => {
    const [headers] = await loggedIn(t, [cookie], [{ connect: true }]);
    assert.equal(headers?.Cookie, sent);
  });
}

test('login cookies are sent with implicitly opened connections, and to ws:// as to http://', async (t) => {
  const cookies = ['a=1; Path=/', 'b=2; Path=/'];
  const headers = await loggedIn(t, cookies, [{ emit: ['hi'] }], {}, (url) => url.replace('http', 'ws'));
  assert.deepEqual(headers, [{ Cookie: 'a=1; b=2' }]);
});

test('login cookies are sent after the cookies from the options, beside other headers', async (t) => {
  const options = { headers: { cookie: 'own=1', 'x-a': 'b' }, path: '/chat' };
  const headers = await loggedIn(t, ['session=abc; Path=/chat'], [{ connect: { headers: { 'x-c': 'd' } } }], options);
  assert.deepEqual(headers, [{ cookie: 'own=1; session=abc', 'x-a': 'b', 'x-c': 'd' }]);
});

test('login cookies are not sent to another host', async (t) => {
  const elsewhere = (url: string) => url.replace('127.0.0.1', 'localhost');
  assert.deepEqual(await loggedIn(t, ['session=abc; Path=/'], [{ connect: true }], {}, elsewhere), [undefined]);
});
