/** Tests the folder of a conductor's secret: refused contents, and certificates that an authority signed. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { readSecret } from '../../../plugin/conduct/hosts/secret-folder.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { newAgent, startHub } from '../../helpers/hosts.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';
import { missingTools } from '../../helpers/tools.ts';

const NEVER = new AbortController().signal;
const DAY_MS = 86_400_000;
const skip = missingTools('openssl');

/** Creates a secret with a certificate chain of an authority, like cert-manager. */
function signed(t: TestContext) {
  const folder = tempFolder(t);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...newKey, '-days', '30', '-subj', '/CN=authority', '-keyout', 'ca.key', '-out', 'ca.crt');
  openssl('req', ...newKey, '-subj', '/CN=conductor', '-keyout', 'tls.key', '-out', 'request');
  const by = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'];
  openssl('x509', '-req', '-in', 'request', ...by, '-days', '30', '-out', 'leaf.crt');
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('tls.crt', read('leaf.crt') + read('ca.crt'));
  write('token', 'a-token-of-sixteen\n');
  return { folder, read, write, openssl };
}

type Folder = ReturnType<typeof signed>;

const PROBLEMS: Record<string, [change: (folder: Folder) => void, ...problems: RegExp[]]> = {
  'without its files': [
    ({ folder }) => {
      for (const name of ['token', 'tls.crt', 'tls.key']) rmSync(join(folder, name));
    },
    ...[/^ {2}token: is missing$/m, /^ {2}tls\.crt: is missing$/m, /^ {2}tls\.key: is missing$/m],
  ],
  'with a key of another certificate': [
    ({ read, write }) => write('tls.key', read('ca.key')),
    /tls\.key: belongs to a/,
  ],
  'with a key of no certificate in the folder': [
    ({ write, openssl, read }) => {
      openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'other.key');
      write('tls.key', read('other.key'));
    },
    /tls\.key: does not belong to tls\.crt/,
  ],
  'with an encrypted key': [
    ({ openssl, read, write }) => {
      openssl('pkey', '-in', 'tls.key', '-aes256', '-passout', 'pass:x', '-out', 'encrypted.key');
      write('tls.key', read('encrypted.key'));
    },
    /tls\.key: is encrypted/,
  ],
  'with a key and a certificate that are not PEM, and an empty token': [
    ({ write }) => {
      for (const name of ['tls.key', 'tls.crt']) write(name, 'SECRET');
      write('token', '');
    },
    ...[/token: is empty/, /tls\.crt: contains no PEM certificate/, /tls\.key: is not a PEM private key/],
  ],
  'with a damaged certificate': [
    ({ read, write }) => write('tls.crt', read('tls.crt').replace(/\n[^-]{20}/, '\n')),
    /tls\.crt: certificate 1 of 2 is damaged/,
  ],
  'with a folder instead of a file': [
    ({ folder }) => {
      rmSync(join(folder, 'token'));
      mkdirSync(join(folder, 'token'));
    },
    /token: is a folder/,
  ],
  'with a short token': [({ write }) => write('token', 'short'), /token: expected at least 16/],
};

describe('the secret folder', { skip }, () => {
  const refusal = (folder: string, nowMs?: number): string => {
    try {
      readSecret(folder, nowMs);
    } catch (error) {
      assert.ok(error instanceof CapacityError && error.code === 'CONFIG_INVALID', String(error));
      return error.message;
    }
    return assert.fail('it was accepted');
  };

  for (const [how, [change, ...problems]] of Object.entries(PROBLEMS)) {
    it(`the conductor refuses a secret folder ${how}`, (t) => {
      const folder = signed(t);
      change(folder);
      const message = refusal(folder.folder);
      for (const problem of problems) assert.match(message, problem);
      assert.equal(message.split('\n').length - 1, problems.length, message);
      assert.doesNotMatch(message, /SECRET/);
    });
  }

  it('the conductor refuses a secret whose certificate is expired or not yet valid', (t) => {
    const { folder } = signed(t);
    assert.match(refusal(folder, Date.now() + 31 * DAY_MS), /tls\.crt: expired at/);
    assert.match(refusal(folder, Date.now() - DAY_MS), /tls\.crt: is not valid before/);
  });

  it('the conductor refuses the secret folder if the user cannot read one of its files', {
    skip: process.getuid?.() === 0 && 'root can read all files',
  }, (t) => {
    const { folder } = signed(t);
    chmodSync(join(folder, 'tls.key'), 0);
    assert.match(refusal(folder), /tls\.key: is not readable by this user/);
  });
});

it('hosts join a conductor whose certificate is signed by an authority', { skip }, async (t) => {
  const { hub, join: joinToken } = await startHub(t, 1, undefined, readSecret(signed(t).folder));
  await newAgent(t, joinToken, {}).agent.join();
  await hub.joined(5000, NEVER);
});

describe('hosts at a wrong conductor', { skip }, () => {
  it('a host reports at once that the conductor has another certificate of the same authority', async (t) => {
    const { join: joinToken } = await startHub(t, 1, undefined, readSecret(signed(t).folder));
    const { agent } = newAgent(t, { ...joinToken, fingerprint: 'ab'.repeat(32) }, {});
    await assert.rejects(agent.join(), { code: 'BAD_TOKEN', message: /has a different certificate/ });
  });

  it('a host reports at once that the server at the conductor’s address does not speak TLS', async (t) => {
    const { join: joinToken } = await startHub(t, 1);
    const http = createServer();
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    t.after(() => http.close());
    const { agent } = newAgent(t, { ...joinToken, port: (http.address() as AddressInfo).port }, {});
    await assert.rejects(agent.join(), {
      code: 'CONDUCTOR_UNREACHABLE',
      message: /^TLS with the conductor at .* failed/,
    });
  });
});
