/**
 * The join token, with which a host joins a run. It is the value of `CAPACITY_CONDUCTOR`:
 * `https://host:port#<token>.<sha256 of the certificate>`. Token and certificate are created for one run, or read from
 * a folder that several processes share.
 */
import { randomBytes, X509Certificate } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { createSelfSigned } from '../../../server/stack/certificate.ts';

/** Address of the conductor, with the secrets by which conductor and hosts authenticate each other. */
export interface JoinAddress {
  host: string;
  port: number;
  token: string;
  /** SHA-256 hash of the conductor's certificate (DER), as lowercase hexadecimal digits. */
  fingerprint: string;
}

export interface ConductorSecret {
  token: string;
  /** Certificate in PEM form. */
  certificate: string;
  key: string;
}

/** Pattern of the token. The token contains no dot, because a dot separates it from the hash. */
export const JOIN_TOKEN_PATTERN = /^[\w-]{16,}$/;
const JOIN_TOKEN = /^https:\/\/(\[[\da-fA-F:]+\]|[^:/#[\]]+):(\d+)#([\w-]{16,})\.([\da-f]{64})$/;

export function formatJoinToken({ host, port, token, fingerprint }: JoinAddress): string {
  return `https://${hostInUrl(host)}:${port}#${token}.${fingerprint}`;
}

export function parseJoinToken(text: string): JoinAddress | undefined {
  const [, host, port, token, fingerprint] = JOIN_TOKEN.exec(text.trim()) ?? [];
  if (!host || !port || !token || !fingerprint) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), token, fingerprint };
}

/**
 * Parses a join token.
 * @throws CapacityError CONFIG_INVALID
 */
export function readJoinToken(text: string): JoinAddress {
  const join = parseJoinToken(text);
  if (join) return join;
  throw new CapacityError(
    'CONFIG_INVALID',
    'environment variable CAPACITY_CONDUCTOR: expected https://host:port#token.fingerprint',
    'copy the value that `npx socketio-capacity conduct` prints; in a shell, put it in quotes',
  );
}

/** Returns the host name or address as written in a URL: an IPv6 address in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Returns the SHA-256 hash of a certificate.
 * @param certificate certificate in PEM or DER form
 */
export function fingerprintOf(certificate: string | Buffer): string {
  return new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();
}

/**
 * Returns the address of this host that other hosts can probably reach: IPv4, otherwise IPv6 that is not link-local;
 * 127.0.0.1 if there is neither.
 */
export function ownAddress(interfaces = networkInterfaces()): string {
  const addresses = Object.values(interfaces).flatMap((list) => (list ?? []).filter(({ internal }) => !internal));
  const reachable = addresses.filter(({ family, address }) => family === 'IPv4' || !/^fe[89ab]/i.test(address));
  return (reachable.find(({ family }) => family === 'IPv4') ?? reachable[0])?.address ?? '127.0.0.1';
}

export async function createConductorSecret(): Promise<ConductorSecret> {
  return {
    token: randomBytes(24).toString('base64url'),
    ...(await createSelfSigned('socketio-capacity conductor', [])),
  };
}
