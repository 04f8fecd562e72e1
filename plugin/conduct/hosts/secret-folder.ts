/** The secret of a conductor as files, such as a Secret that Kubernetes mounts. It is checked as a whole when it is read. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { formatProblems, type Problem } from '../../../protocol/base/problems.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { type Secret, TOKEN } from './join-line.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const ENCRYPTED = /BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/;
const WHY_UNREADABLE: Record<string, string> = {
  ENOENT: 'is missing',
  EACCES: 'may not be read by this user',
  EISDIR: 'is a folder',
  ENOTDIR: 'is missing',
};

/**
 * Reads a secret. A certificate that an authority signed comes before the certificates of its chain.
 * @param folder with `token`, `tls.crt` and `tls.key` (PEM)
 * @throws CapacityError CONFIG_INVALID with all problems
 */
export function readSecret(folder: string, nowMs = Date.now()): Secret {
  const problems: Problem[] = [];
  const say: Say = (path, message) => {
    problems.push({ path, message });
  };
  const read = (name: string): string | undefined => {
    try {
      return readFileSync(join(folder, name), 'utf8').trim();
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      say(name, WHY_UNREADABLE[code] ?? `cannot be read: ${message}`);
      return undefined;
    }
  };
  const [token, certificate, key] = [read('token'), read('tls.crt'), read('tls.key')];
  if (token !== undefined && !TOKEN.test(token)) {
    say('token', token === '' ? 'is empty' : 'expected at least 16 letters, digits, - or _');
  }
  const chain = certificate === undefined ? [] : certificatesIn(certificate, say);
  const privateKey = key === undefined ? undefined : keyIn(key, say);
  const [leaf] = chain;
  if (leaf) checkPeriod(leaf, nowMs, say);
  if (leaf && privateKey && !leaf.checkPrivateKey(privateKey)) {
    const isLater = chain.some((one) => one?.checkPrivateKey(privateKey));
    say(
      'tls.key',
      isLater ? 'belongs to a certificate that is not the first in tls.crt' : 'does not belong to tls.crt',
    );
  }
  if (problems.length === 0 && certificate !== undefined && key !== undefined) {
    try {
      createSecureContext({ cert: certificate, key });
    } catch (error) {
      say('tls.crt', `cannot be used for TLS: ${(error as Error).message}`);
    }
  }
  if (token !== undefined && certificate !== undefined && key !== undefined && problems.length === 0) {
    return { token, certificate, key };
  }
  throw new CapacityError(
    'CONFIG_INVALID',
    `${folder} is not the secret of a conductor\n${formatProblems(problems)}`,
    'give it the files token, tls.crt and tls.key (PEM): docs/guide/several-hosts.md has the commands',
  );
}

type Say = (path: string, message: string) => void;

function certificatesIn(text: string, say: Say): (X509Certificate | undefined)[] {
  const parts = text.match(CERTIFICATE) ?? [];
  if (parts.length === 0) say('tls.crt', text === '' ? 'is empty' : 'has no certificate as PEM');
  return parts.map((part, index) => {
    try {
      return new X509Certificate(part);
    } catch {
      say('tls.crt', `certificate ${index + 1} of ${parts.length} is damaged`);
      return undefined;
    }
  });
}

function keyIn(text: string, say: Say): KeyObject | undefined {
  if (ENCRYPTED.test(text)) {
    say('tls.key', 'is encrypted: decrypt it with `openssl pkey`');
    return undefined;
  }
  try {
    return createPrivateKey(text);
  } catch {
    say('tls.key', text === '' ? 'is empty' : 'is not a private key as PEM');
    return undefined;
  }
}

function checkPeriod({ validFrom, validTo }: X509Certificate, nowMs: number, say: Say): void {
  if (Date.parse(validTo) <= nowMs) say('tls.crt', `expired at ${validTo}`);
  else if (Date.parse(validFrom) > nowMs) say('tls.crt', `is not valid before ${validFrom}`);
}
