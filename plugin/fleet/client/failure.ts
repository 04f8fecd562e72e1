/** Why an attempt to connect failed, in the same words for both clients: results count and compare them. */
import { constants } from 'node:os';
import { attempt } from '../../../protocol/base/attempt.ts';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';

export interface Failure {
  cause: FailureCode;
  message: string;
  /** Payload of a CONNECT_ERROR. */
  data?: unknown;
  /** Reported by the official client if the handshake of Engine.IO had succeeded before. */
  after?: Granted | undefined;
}

/** The server's behaviour before the attempt failed. */
interface Granted {
  transport: 'polling' | 'websocket';
  /** Its handshake has `maxPayload`, which servers of Socket.IO 2 do not send. */
  isEngineIo4: boolean;
  /** JSON of its last message; empty if it sent none. */
  sent: string;
}

/** The answer to a server of Socket.IO 2: its protocol is another one, and no option of either client speaks it. */
export const SOCKET_IO_2: Failure = {
  cause: 'socketio_2',
  message: 'Socket.IO 2: not supported (the server speaks Engine.IO 3; these clients speak Socket.IO 3 and 4)',
};
/** For a connection that would upgrade from polling. */
export const NO_UPGRADE: Failure = {
  cause: 'no_upgrade',
  message: 'the server offers no WebSocket (`upgrades: []` in its handshake)',
};
/** Payload with the handshake of Engine.IO 3, as text and as bytes. */
export const ENGINE_IO_3 = /^(\d+:|[\0-\t]+[\xff\ufffd])0\{"sid"/;
/** WebSocket frames of Engine.IO 3, as latin1: the server opens or refuses its main namespace before the client asks for it. */
export const OPENED_UNASKED = /0\{"sid".*?\}\x81(~..|[\0-}])4[04]/s;

/** Codes of getaddrinfo beyond the system's errno names. */
const NAME_LOOKUP = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ENODATA']);

export function networkFailure(error: NodeJS.ErrnoException): Failure {
  return { cause: networkCause(error), message: error.message };
}

/**
 * @returns the errno name (`ECONNREFUSED`, `EMFILE`, …), `tls_<code>` for an error of TLS, or Node's own error code;
 *   `closed` if there is none
 */
export function networkCause({ code }: NodeJS.ErrnoException): FailureCode {
  if (code === undefined || code === '') return 'closed';
  // EPROTO is an errno name, but Node uses it only for errors of OpenSSL.
  if (code === 'EPROTO') return 'tls_EPROTO';
  if (code in constants.errno || NAME_LOOKUP.has(code)) return code as FailureCode;
  // Certificate errors carry OpenSSL's verification names: CERT_HAS_EXPIRED, DEPTH_ZERO_SELF_SIGNED_CERT, …
  const fromTls = /^ERR_(TLS|SSL|OSSL)_/.test(code) || !code.startsWith('ERR_');
  return fromTls ? `tls_${code}` : (code as FailureCode);
}

/** The HTTP answer of a server that does not upgrade. */
interface HttpAnswer {
  status: number;
  /** The text of the status, if known. */
  reason?: string | undefined;
  /** @param name in lower case @returns its first value */
  header(name: string): string | undefined;
  /** The part that has arrived. */
  body?: string;
}

const MAX_BODY_LENGTH = 200;
/** HTML elements whose text names the page. */
const HEADINGS = /<(title|h1|pre)\b[^>]*>(.*?)<\/\1>/gis;

/** @param body of an answer, or its beginning @returns of a page, its title and headings; of an error as JSON, its message */
export function wordsOf(body: string): string {
  const text = body.trim();
  if (text.startsWith('<')) {
    const headings = [...text.matchAll(HEADINGS)].map(([, , inside = '']) => inside.replace(/<[^>]*>/g, ' ').trim());
    return [...new Set(headings)].filter(Boolean).join(': ').slice(0, MAX_BODY_LENGTH);
  }
  const { message } = attempt(() => Object(JSON.parse(text)) as { message?: unknown }) ?? {};
  return (typeof message === 'string' ? message : text).slice(0, MAX_BODY_LENGTH);
}

/** Headers that state a rate limit: RFC 9110, the IETF's draft, and its predecessors. */
const RATE_HEADERS = ['Retry-After', 'RateLimit-Policy', 'RateLimit', 'RateLimit-Limit', 'X-RateLimit-Limit'];
const MAX_HEADER_LENGTH = 60;

function limitText(name: string, value: string | undefined): string | undefined {
  return value && `${name}: ${value.slice(0, MAX_HEADER_LENGTH)}`;
}

export function httpFailure({ status, reason = '', header, body = '' }: HttpAnswer): Failure {
  const location = header('location');
  const words = wordsOf(body);
  const said = [
    ...[`the server answered ${status} ${reason}`.trim(), location && `Location: ${location}`],
    // The page of a proxy often repeats the status.
    words === `${status} ${reason}` ? '' : words,
    ...RATE_HEADERS.map((name) => limitText(name, header(name.toLowerCase()))),
  ];
  return { cause: `http_${status}`, message: said.filter(Boolean).join(', ') };
}

/** @param maxBytes that a message may have, as the option says @param bytes of the message, if known */
export function tooLargeText(maxBytes: number, bytes = 0): string {
  const [limit, size] = [maxBytes, bytes].map((one) => one.toLocaleString('en-US'));
  return bytes > maxBytes
    ? `the server sent a message of ${size} bytes; the limit of the clients, \`maxPayload\`, is ${limit}`
    : `the server sent a message larger than the limit of the clients, \`maxPayload\`: ${limit} bytes`;
}

/** Why a connection's request failed. */
export class FleetError extends Error {
  readonly code: FailureCode;
  /** Payload of a CONNECT_ERROR. */
  readonly data: unknown;
  /** See `Failure`. */
  readonly after: Failure['after'];

  constructor(code: FailureCode, message: string, data?: unknown, after?: Failure['after']) {
    super(message);
    this.name = 'FleetError';
    this.code = code;
    this.data = data;
    this.after = after;
  }
}
