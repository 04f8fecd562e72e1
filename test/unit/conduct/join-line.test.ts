import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import {
  fingerprintOf,
  formatJoinLine,
  newSecret,
  parseJoinLine,
  readSecret,
} from '../../../plugin/conduct/hosts/join-line.ts';

const fingerprint = 'ab'.repeat(32);
const token = 'token-of-the_tests';

it('a join line is read as it was written, for names and addresses of both families', () => {
  for (const host of ['10.0.0.5', 'conductor.load.svc', 'fd00::5']) {
    const line = { host, port: 3401, token, fingerprint };
    assert.deepEqual(parseJoinLine(formatJoinLine(line)), line);
  }
  const line = `https://h:1#${token}.${fingerprint}`;
  for (const wrong of ['', 'https://h:1', line.replace('https', 'http'), line.slice(0, -1), `${line}0`]) {
    assert.equal(parseJoinLine(wrong), undefined, wrong);
  }
});

it('a new secret can be kept in a folder, and is the same there', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'secret-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const secret = await newSecret();
  writeFileSync(join(folder, 'token'), `${secret.token}\n`);
  writeFileSync(join(folder, 'tls.crt'), secret.certificate);
  assert.throws(() => readSecret(folder), { code: 'CONFIG_INVALID' });
  writeFileSync(join(folder, 'tls.key'), secret.key);
  assert.equal(fingerprintOf(readSecret(folder).certificate), fingerprintOf(secret.certificate));
  assert.equal(readSecret(folder).token, secret.token);
  writeFileSync(join(folder, 'token'), 'short');
  assert.throws(() => readSecret(folder), { code: 'CONFIG_INVALID' });
});
