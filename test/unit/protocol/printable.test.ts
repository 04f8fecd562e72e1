import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printableCommand, printableLine } from '../../../protocol/base/printable.ts';
import { setKnownSecrets } from '../../../protocol/base/secrets/known-secrets.ts';
import { CapacityError, describeError } from '../../../protocol/codes/errors.ts';

test('text from a server stays on one line and cannot control a terminal', () => {
  assert.equal(printableLine('  bad\r\n\ttoken ', 50), 'bad token');
  assert.equal(printableLine('\x1b[31mred\x07\x00', 50), '\\u{1b}[31mred\\u{7}\\u{0}');
  assert.equal(printableLine('a\u202eb\u200bc\ud800d', 50), 'a\\u{202e}b\\u{200b}c\\u{d800}d');
  assert.equal(printableLine('grüße 🎉 <b>&', 50), 'grüße 🎉 <b>&');
});

test('text from a server cannot control a CI system, at any position', () => {
  assert.equal(printableLine('a ::error title=x::pwned', 50), 'a \\u{3a}:error title=x::pwned');
  assert.equal(
    printableLine('##[error]x ##vso[task.x]y ##teamcity[z', 80),
    '\\u{23}#[error]x \\u{23}#vso[task.x]y \\u{23}#teamcity[z',
  );
  assert.equal(printableLine('::1 and ::ffff:127.0.0.1, ## head', 50), '::1 and ::ffff:127.0.0.1, ## head');
});

test('text from a server has a bounded length, even if every character is escaped', () => {
  assert.equal(printableLine('x'.repeat(1e6), 10), 'xxxxxxxxx…');
  assert.equal(printableLine('\x00'.repeat(1e6), 10).length, 10);
});

test('an error message contains the message of its cause once', () => {
  const lines = (message: string) =>
    describeError(
      new CapacityError('TARGET_UNREACHABLE', message, 'start it', { cause: new Error('ECONNREFUSED') }),
    ).split('\n');
  assert.deepEqual(lines('no connection: ECONNREFUSED').length, 2);
  assert.deepEqual(lines('no connection')[1], '  cause: ECONNREFUSED');
});

test('command lines keep words that the script emits, and mask credentials', (t) => {
  setKnownSecrets({ credentials: ['canary-4711-token'], values: ['server'] });
  t.after(() => setKnownSecrets({ credentials: [], values: [] }));
  const args = ['node', 'plain-server.mjs', '--key', 'x1', 'canary-4711-token'];
  assert.equal(printableCommand(args, 100), 'node plain-server.mjs --key *** ***');
  assert.equal(printableLine('node plain-server.mjs', 100), 'node plain-***.mjs');
});
