/** The line with which a host joins a run: `CAPACITY_CONDUCTOR=https://host:port#<token>.<sha256 of the certificate>`. */
import { X509Certificate } from 'node:crypto';

/** Where the conductor listens, and what proves both sides to each other. */
export interface Join {
  host: string;
  port: number;
  token: string;
  /** SHA-256 of the conductor's certificate (DER), as lowercase hexadecimal digits. */
  fingerprint: string;
}

/** A token has no dot, so that the line can be split. */
const LINE = /^https:\/\/(\[[\da-fA-F:]+\]|[^:/#[\]]+):(\d+)#([\w-]{16,})\.([\da-f]{64})$/;

export function formatJoinLine({ host, port, token, fingerprint }: Join): string {
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}#${token}.${fingerprint}`;
}

/** @returns undefined if it is none */
export function parseJoinLine(line: string): Join | undefined {
  const [, host, port, token, fingerprint] = LINE.exec(line.trim()) ?? [];
  if (!host || !port || !token || !fingerprint) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), token, fingerprint };
}

/** @param certificate as PEM or DER */
export function fingerprintOf(certificate: string | Buffer): string {
  return new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();
}
