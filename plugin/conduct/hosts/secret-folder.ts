/** Reads the conductor's token and certificate from files, such as a mounted Kubernetes Secret. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { formatProblems, type InputProblem } from '../../../protocol/base/problems.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { type ConductorSecret, JOIN_TOKEN_PATTERN } from './join-token.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const ENCRYPTED = /BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/;
const UNREADABLE: Record<string, string> = {
  ENOENT: 'is missing',
  EACCES: 'is not readable by this user',
  EISDIR: 'is a folder',
  ENOTDIR: 'is missing',
};

/**
 * Reads and checks the conductor's secret. In `tls.crt`, the conductor's certificate comes first, followed by the
 * certificates of the issuing authorities.
 * @param folder folder with the files `token`, `tls.crt` and `tls.key` (PEM)
 * @throws CapacityError CONFIG_INVALID with all problems
 */
export function readSecret(folder: string, nowMs = Date.now()): ConductorSecret {
  const problems: InputProblem[] = [];
  const report: Report = (path, message) => {
    problems.push({ path, message });
  };
  const read = (name: string): string | undefined => {
    try {
      return readFileSync(join(folder, name), 'utf8').trim();
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      report(name, UNREADABLE[code] ?? `cannot be read: ${message}`);
      return undefined;
    }
  };
  const [token, certificate, key] = [read('token'), read('tls.crt'), read('tls.key')];
  if (token !== undefined && !JOIN_TOKEN_PATTERN.test(token)) {
    report('token', token === '' ? 'is empty' : 'expected at least 16 letters, digits, - or _');
  }
  const chain = certificate === undefined ? [] : certificatesIn(certificate, report);
  const privateKey = key === undefined ? undefined : keyIn(key, report);
  const [leaf] = chain;
  if (leaf) checkPeriod(leaf, nowMs, report);
  if (leaf && privateKey && !leaf.checkPrivateKey(privateKey)) {
    const isLater = chain.some((certificate) => certificate?.checkPrivateKey(privateKey));
    report(
      'tls.key',
      isLater ? 'belongs to a certificate that is not the first in tls.crt' : 'does not belong to tls.crt',
    );
  }
  if (problems.length === 0 && certificate !== undefined && key !== undefined) {
    try {
      createSecureContext({ cert: certificate, key });
    } catch (error) {
      report('tls.crt', `cannot be used for TLS: ${(error as Error).message}`);
    }
  }
  if (token !== undefined && certificate !== undefined && key !== undefined && problems.length === 0) {
    return { token, certificate, key };
  }
  throw new CapacityError(
    'CONFIG_INVALID',
    `${folder} is not a valid conductor secret\n${formatProblems(problems)}`,
    'create the files token, tls.crt and tls.key (PEM) with the commands in docs/guide/several-hosts.md',
  );
}

type Report = (path: string, message: string) => void;

function certificatesIn(text: string, report: Report): (X509Certificate | undefined)[] {
  const parts = text.match(CERTIFICATE) ?? [];
  if (parts.length === 0) report('tls.crt', text === '' ? 'is empty' : 'contains no PEM certificate');
  return parts.map((part, index) => {
    try {
      return new X509Certificate(part);
    } catch {
      report('tls.crt', `certificate ${index + 1} of ${parts.length} is damaged`);
      return undefined;
    }
  });
}

function keyIn(text: string, report: Report): KeyObject | undefined {
  if (ENCRYPTED.test(text)) {
    report('tls.key', 'is encrypted: decrypt it with `openssl pkey`');
    return undefined;
  }
  try {
    return createPrivateKey(text);
  } catch {
    report('tls.key', text === '' ? 'is empty' : 'is not a PEM private key');
    return undefined;
  }
}

function checkPeriod({ validFrom, validTo }: X509Certificate, nowMs: number, report: Report): void {
  if (Date.parse(validTo) <= nowMs) report('tls.crt', `expired at ${validTo}`);
  else if (Date.parse(validFrom) > nowMs) report('tls.crt', `is not valid before ${validFrom}`);
}
