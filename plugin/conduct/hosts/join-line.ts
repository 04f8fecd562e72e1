/**
 * How a host joins a run: by the line `CAPACITY_CONDUCTOR=https://host:port#<token>.<sha256 of the certificate>`. Token and
 * certificate are made for one run, or read from a folder where several processes have to agree on them.
 */
import { randomBytes, X509Certificate } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { selfSigned } from '../../../server/stack/certificate.ts';

/** Where the conductor listens, and what proves both sides to each other. */
export interface Join {
  host: string;
  port: number;
  token: string;
  /** SHA-256 of the conductor's certificate (DER), as lowercase hexadecimal digits. */
  fingerprint: string;
}

export interface Secret {
  token: string;
  /** PEM. */
  certificate: string;
  key: string;
}

/** Without a dot, so that the line can be split. */
export const TOKEN = /^[\w-]{16,}$/;
const LINE = /^https:\/\/(\[[\da-fA-F:]+\]|[^:/#[\]]+):(\d+)#([\w-]{16,})\.([\da-f]{64})$/;

export function formatJoinLine({ host, port, token, fingerprint }: Join): string {
  return `https://${inUrl(host)}:${port}#${token}.${fingerprint}`;
}

export function parseJoinLine(line: string): Join | undefined {
  const [, host, port, token, fingerprint] = LINE.exec(line.trim()) ?? [];
  if (!host || !port || !token || !fingerprint) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), token, fingerprint };
}

/** @returns the host as URLs have it: an IPv6 address in brackets */
export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** @param certificate as PEM or DER */
export function fingerprintOf(certificate: string | Buffer): string {
  return new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();
}

/**
 * @returns by which other hosts most likely reach this one: an IPv4 address, or an IPv6 address that is valid beyond its link;
 *   127.0.0.1 if there is neither
 */
export function ownAddress(interfaces = networkInterfaces()): string {
  const addresses = Object.values(interfaces).flatMap((some) => (some ?? []).filter(({ internal }) => !internal));
  const reachable = addresses.filter(({ family, address }) => family === 'IPv4' || !/^fe[89ab]/i.test(address));
  return (reachable.find(({ family }) => family === 'IPv4') ?? reachable[0])?.address ?? '127.0.0.1';
}

export async function newSecret(): Promise<Secret> {
  return { token: randomBytes(24).toString('base64url'), ...(await selfSigned('socketio-capacity conductor', [])) };
}
