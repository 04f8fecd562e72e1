import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskCommandLine } from '../../../protocol/base/secrets/command-line.ts';
import { setKnownSecrets, withoutSecrets } from '../../../protocol/base/secrets/known-secrets.ts';
import { hasSecretChildren, isSecretName, maskText, maskUrls } from '../../../protocol/base/secrets/secret-text.ts';

test('recognises names of credentials in any case and with any separator', () => {
  const secret = [
    'auth',
    'password',
    'PASSWD',
    'pwd',
    'accessToken',
    'access_token',
    'accesstoken',
    'x-api-key',
    'apiKey',
  ];
  secret.push(
    'Cookie',
    'Authorization',
    'connect.sid',
    'SESSION_ID',
    'sessionid',
    'jwt',
    'bearer',
    'clientSecret',
    'keys',
  );
  secret.push('DB_PASS', 'userpassword', 'credentials', 'oauth', 'CAPACITY_TOKEN', 'pin');
  for (const name of secret) assert.ok(isSecretName(name), name);
  for (const name of ['author', 'monkey', 'keyboard', 'event', 'namespace', 'port', 'inside', 'compass', 'keepAlive']) {
    assert.ok(!isSecretName(name), name);
  }
  for (const place of ['headers', 'extraHeaders', 'query', 'tls', 'auth']) assert.ok(hasSecretChildren(place), place);
});

test('masks user info and query values of URLs, private keys and JSON web tokens in any text', () => {
  const masked: Record<string, string> = {
    'at redis://:p@ss@10.0.0.5:6379/0 now': 'at redis://***@10.0.0.5:6379/0 now',
    'https://ann:x1@host/a?token=t&b=2#c': 'https://***@host/a?token=***&b=***#c',
    'GET /login?user=ann&pw=x answered 401': 'GET /login?user=***&pw=*** answered 401',
    'https://host/path?onlyvalue': 'https://host/path?***',
    'http://h/?t={{ token }}&u=x': 'http://h/?t={{ token }}&u=***',
    'https://h/cb#access_token=abc': 'https://h/cb#access_token=***',
    '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----': '-----BEGIN RSA PRIVATE KEY----- ***',
    'bad eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln token': 'bad *** token',
  };
  for (const [text, expected] of Object.entries(masked)) assert.equal(maskUrls(text), expected);
  for (const text of ['p99 &lt;=500', 'is it so? a=b', 'http://localhost:3000/admin', 'ann@example.com', 'a ? b : c']) {
    assert.equal(maskUrls(text), text);
  }
});

test('masks values next to a secret name in text from other programs, and nothing else', () => {
  const masked: Record<string, string> = {
    'invalid {"user":"ann","password":"x\\"y","n":1}': 'invalid {"user":"ann","password":"***","n":1}',
    'pin is {"pin": 1234}': 'pin is {"pin": ***}',
    '[{"accessToken":"eyJ0a2': '[{"accessToken":"***"',
    'token=abc rejected': 'token=*** rejected',
    'Bearer abc123def is expired': 'Bearer *** is expired',
    'got Cookie: a=b; c=d': 'got Cookie: ***',
  };
  for (const [text, expected] of Object.entries(masked)) assert.equal(maskText(text), expected);
  const untouched = [
    'Basic authentication is required',
    'token: expected at least 16 letters',
    '{"token": "{{ token }}"}',
  ];
  for (const text of untouched) assert.equal(maskText(text), text);
});

test('masks credentials on command lines and keeps what identifies the process', () => {
  const masked: [string | string[], string][] = [
    ['node index.js --password=x --port 3000', 'node index.js --password=*** --port 3000'],
    ['node index.js --password x --port 3000', 'node index.js --password *** --port 3000'],
    [['/usr/bin/node', 'a b.js', '--api-key', '-x'], '/usr/bin/node a b.js --api-key ***'],
    ['node index.js --auth --port 3000', 'node index.js --auth --port 3000'],
    ['node index.js --no-auth 3000', 'node index.js --no-auth 3000'],
    ['env TOKEN=x node index.js redis://:y@h:1', 'env TOKEN=*** node index.js redis://***@h:1'],
    [['node', '-e', 'connect("secret")', 'x'], 'node -e *** x'],
    [['redis-cli', '-a', 'pw', 'info'], 'redis-cli -a *** info'],
    [['curl', '-H', 'Authorization: Bearer abc'], 'curl -H Authorization: ***'],
    [['run', '--overrides', '{"auth":{"token":"abc"}}'], 'run --overrides {"auth":***}'],
    ['', ''],
  ];
  for (const [line, expected] of masked) assert.equal(maskCommandLine(line), expected);
});

test('masks a long hostile text in linear time', () => {
  for (const part of ['a', 'a.', '"a', '?a', 'a://', 'x-', '-----BEGIN PRIVATE KEY-----', 'eyJ', '{', "'a':"]) {
    const startedAt = performance.now();
    maskText(part.repeat(50_000 / part.length));
    assert.ok(performance.now() - startedAt < 2000, part);
  }
});

test('masks a secret of a megabyte, although patterns are limited in size', () => {
  const value = 'x7(k'.repeat(300_000);
  setKnownSecrets({ credentials: [], values: [value] });
  assert.equal(withoutSecrets(`the server said ${value.slice(0, 5000)}`), 'the server said ***');
  setKnownSecrets({ credentials: [], values: [] });
});
