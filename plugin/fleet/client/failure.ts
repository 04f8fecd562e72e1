/**
 * Causes of failed connection attempts. Both clients use the same names for the causes, so that results can count and
 * compare them.
 */
import { constants } from 'node:os';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';

export interface ConnectionFailure {
  cause: FailureCode;
  message: string;
  /** Payload of the server's CONNECT_ERROR packet. */
  data?: unknown;
  /**
   * Facts about the server from before the failure. Set by the official client if the Engine.IO handshake had
   * succeeded.
   */
  after?: Granted | undefined;
}

/** Facts that the client learned about the server before the connection attempt failed. */
interface Granted {
  transport: 'polling' | 'websocket';
  /** Whether the server's handshake contains `maxPayload`, which servers of Socket.IO 2 do not send. */
  isEngineIo4: boolean;
  /** JSON of the server's last message; empty if it sent none. */
  sent: string;
}

/** Failure for a server of Socket.IO 2, whose protocol neither client supports. */
export const SOCKET_IO_2_FAILURE: ConnectionFailure = {
  cause: 'socketio_2',
  message: 'Socket.IO 2: not supported (the server speaks Engine.IO 3; these clients speak Socket.IO 3 and 4)',
};
/** Failure of a connection that could not upgrade from polling to WebSocket. */
export const NO_UPGRADE_FAILURE: ConnectionFailure = {
  cause: 'no_upgrade',
  message: 'the server offers no WebSocket (`upgrades: []` in its handshake)',
};
/** Matches a polling response with the handshake of Engine.IO 3, as text or bytes. */
export const ENGINE_IO_3_HANDSHAKE = /^(\d+:|[\0-\t]+[\xff\ufffd])0\{"sid"/;
/**
 * Matches WebSocket frames of Engine.IO 3, read as latin1: the server opens or refuses its main namespace without a
 * request.
 */
export const ENGINE_IO_3_FRAMES = /0\{"sid".*?\}\x81(~..|[\0-}])4[04]/s;

/** Error codes of DNS lookups (getaddrinfo), which are not errno names of the system. */
const NAME_LOOKUP = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ENODATA']);

export function networkFailure(error: NodeJS.ErrnoException): ConnectionFailure {
  return { cause: networkCause(error), message: error.message };
}

/**
 * Returns the errno name (`ECONNREFUSED`, `EMFILE`, …), `tls_<code>` for a TLS error, or Node's own error code; `closed`
 * if there is none.
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

/** HTTP response of a server that refused the upgrade to WebSocket. */
interface HttpAnswer {
  status: number;
  /** Reason phrase of the status line, if known. */
  reason?: string | undefined;
  /**
   * Returns a header's first value.
   * @param name header name in lower case
   */
  header(name: string): string | undefined;
  /** Received part of the response's body. */
  body?: string;
}

const MAX_BODY_LENGTH = 200;
/** Matches HTML elements whose text describes an error page. */
const HEADINGS = /<(title|h1|pre)\b[^>]*>(.*?)<\/\1>/gis;

/**
 * Returns title and headings of an error page, or the message of a JSON error.
 * @param body body of a response, or its start
 */
export function errorPageText(body: string): string {
  const text = body.trim();
  if (text.startsWith('<')) {
    const headings = [...text.matchAll(HEADINGS)].map(([, , inside = '']) => inside.replace(/<[^>]*>/g, ' ').trim());
    return [...new Set(headings)].filter(Boolean).join(': ').slice(0, MAX_BODY_LENGTH);
  }
  const { message } = tryOrUndefined(() => Object(JSON.parse(text)) as { message?: unknown }) ?? {};
  return (typeof message === 'string' ? message : text).slice(0, MAX_BODY_LENGTH);
}

/** Headers that state a rate limit: RFC 9110, the IETF's draft, and its predecessors. */
const RATE_HEADERS = ['Retry-After', 'RateLimit-Policy', 'RateLimit', 'RateLimit-Limit', 'X-RateLimit-Limit'];
const MAX_HEADER_LENGTH = 60;

function limitText(name: string, value: string | undefined): string | undefined {
  return value && `${name}: ${value.slice(0, MAX_HEADER_LENGTH)}`;
}

export function httpFailure({ status, reason = '', header, body = '' }: HttpAnswer): ConnectionFailure {
  const location = header('location');
  const words = errorPageText(body);
  const said = [
    ...[`the server answered ${status} ${reason}`.trim(), location && `Location: ${location}`],
    // The error page of a proxy often only repeats the status line; its text is then left out.
    words === `${status} ${reason}` ? '' : words,
    ...RATE_HEADERS.map((name) => limitText(name, header(name.toLowerCase()))),
  ];
  return { cause: `http_${status}`, message: said.filter(Boolean).join(', ') };
}

/**
 * Returns the text of the failure for a message that is too large.
 * @param maxBytes largest allowed message
 * @param bytes size of the message; 0 if unknown
 */
export function tooLargeText(maxBytes: number, bytes = 0): string {
  const [limit, size] = [maxBytes, bytes].map((one) => one.toLocaleString('en-US'));
  return bytes > maxBytes
    ? `the server sent a message of ${size} bytes; the limit of the clients, \`maxPayload\`, is ${limit}`
    : `the server sent a message larger than the limit of the clients, \`maxPayload\`: ${limit} bytes`;
}

/** Error of a request to a fleet connection, with the cause as its code. */
export class FleetError extends Error {
  readonly code: FailureCode;
  /** Payload of the server's CONNECT_ERROR packet. */
  readonly data: unknown;
  readonly after: ConnectionFailure['after'];

  constructor(code: FailureCode, message: string, data?: unknown, after?: ConnectionFailure['after']) {
    super(message);
    this.name = 'FleetError';
    this.code = code;
    this.data = data;
    this.after = after;
  }
}
