/** One check of a target: what was tried, what was found, and how to mend it. */
import type { LookupAddress } from 'node:dns';
import { CapacityError } from '../../../protocol/errors.ts';
import { wrap } from '../../../report/text/format.ts';
import type { OwnClients } from '../../run/receivers/own-clients.ts';
import { portOf } from '../../run/target/listeners.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import type { TargetCheckName } from '../checks.ts';

export interface Finding {
  /** `failed`: a run would be refused, lose connections, or measure something else. `skipped`: nothing to be tried. */
  status: 'ok' | 'warning' | 'failed' | 'skipped';
  found: string;
  fix?: string;
}

export interface TargetCheck extends Finding {
  name: TargetCheckName;
  tried: string;
}

/** What is checked, as a run would connect to it. */
export interface Subject {
  connection: ConnectionTarget;
  /** Who comes by the flow. */
  clients: Pick<OwnClients, 'next' | 'nextPassing' | 'areUsers'>;
  /** What the target's name resolves to. */
  addresses: LookupAddress[];
  signal: AbortSignal;
}

/** For a connection to be made, or a request to be answered. */
export const TIMEOUT_MS = 10_000;

/**
 * @param usualFix for errors that bring none of their own
 * @returns what was found; what is thrown is what has failed
 */
export async function check(
  name: TargetCheckName,
  tried: string,
  examine: () => Promise<Finding>,
  usualFix = 'start the server or its proxy, let this machine reach it, or correct the target',
): Promise<TargetCheck> {
  try {
    return { name, tried, ...(await examine()) };
  } catch (error) {
    if (error instanceof CapacityError) {
      return { name, tried, status: 'failed', found: error.message, fix: error.fix ?? usualFix };
    }
    const { code, message } = error as NodeJS.ErrnoException;
    const [found, fix] = wantedBy(error) ?? [code ?? message, usualFix];
    return { name, tried, status: 'failed', found, fix };
  }
}

const STATUS_WIDTH = 8;

export function printCheck({ status, tried, found, fix }: TargetCheck, width: number): string {
  const indent = ' '.repeat(STATUS_WIDTH);
  return [
    ...wrap(`${status.padEnd(STATUS_WIDTH)}${tried}: ${found}`, width, indent),
    ...(fix === undefined ? [] : wrap(`${indent}fix: ${fix}`, width, `${indent}  `)),
  ].join('\n');
}

/** @returns `10.0.0.5:443` */
export function placeOf(url: URL, { address, family }: LookupAddress): string {
  return `${family === 6 ? `[${address}]` : address}:${portOf(url.href)}`;
}

const ENGINE = 'config.engines.socketio-capacity';
/** By a server that ends a connection before it has said a word of HTTP/1.1, or of a WebSocket. */
type Wanted = [found: string, fix: string];

const CERTIFICATE: Wanted = [
  'the server asks for a client certificate',
  `name one that it trusts: ${ENGINE}: { tls: { cert: client.pem, key: client-key.pem } }`,
];
/** Also for HTTP's status 505. */
export const HTTP2: Wanted = [
  'it speaks HTTP/2 only, and Socket.IO’s clients open WebSockets over HTTP/1.1',
  'let the proxy accept HTTP/1.1, too (ALPN http/1.1)',
];
const BAD_CERTIFICATE: Wanted = ['the server refuses the client certificate', CERTIFICATE[1]];

/** By the words of OpenSSL's alerts, of Node's codes, and of answers that proxies give; the first that fits. */
const BY_WORDS: [RegExp, Wanted][] = [
  [/ALPN|NO[_ ]APPLICATION[_ ]PROTOCOL/i, HTTP2],
  [/CERTIFICATE[_ ]REQUIRED|No required SSL certificate/i, CERTIFICATE],
  [/ALERT[_ ](UNKNOWN[_ ]CA|(BAD|UNSUPPORTED)[_ ]CERTIFICATE|CERTIFICATE[_ ])|SSL certificate error/i, BAD_CERTIFICATE],
  [
    /HANDSHAKE[_ ]FAILURE/i,
    ['it ended the TLS handshake: it asks for a client certificate, or shares no cipher', CERTIFICATE[1]],
  ],
  [/plain HTTP request was sent to HTTPS port/i, ['it speaks TLS', 'correct the target: https://']],
];
/** What a server speaks whose first bytes are not HTTP/1.1: an HTTP/2 frame of settings, a TLS alert. */
const BY_BYTES: [at: number, byte: number, Wanted][] = [
  [0, 0x15, ['it speaks TLS', 'correct the target: https://']],
  [3, 0x04, HTTP2],
];

/** @param said an answer, or what was thrown @returns undefined if it says nothing of the kind */
export function wantedBy(said: unknown): Wanted | undefined {
  const {
    code = '',
    message = '',
    rawPacket,
  } = (said ?? {}) as { code?: string; message?: string; rawPacket?: Buffer };
  const text = typeof said === 'string' ? said : `${code} ${message}`;
  const byBytes = code.startsWith('HPE_') && BY_BYTES.find(([at, byte]) => rawPacket?.[at] === byte);
  return byBytes ? byBytes[2] : BY_WORDS.find(([words]) => words.test(text))?.[1];
}
