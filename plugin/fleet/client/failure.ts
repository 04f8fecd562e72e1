/** Why an attempt to connect failed, in the same words for both clients: results count and compare them. */
import { constants } from 'node:os';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';

export interface Failure {
  cause: FailureCode;
  message: string;
  /** Payload of a CONNECT_ERROR. */
  data?: unknown;
}

/** The answer to a server of Socket.IO 2: its protocol is another one, and no option of either client speaks it. */
export const SOCKET_IO_2: Failure = {
  cause: 'not_socketio',
  message: 'the server speaks Socket.IO 2, these clients 3 and 4: upgrade the server, or use an engine for Socket.IO 2',
};

/** What getaddrinfo reports beyond the system's errno names. */
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

/** What an HTTP server answers when it does not upgrade. */
interface HttpAnswer {
  status: number;
  /** The text of the status, if known. */
  reason?: string | undefined;
  location?: string | undefined;
  /** As much as has arrived. */
  body?: string;
}

const MAX_BODY_LENGTH = 200;

export function httpFailure({ status, reason = '', location, body = '' }: HttpAnswer): Failure {
  const said = [
    `the server answered ${status} ${reason}`.trim(),
    location && `Location: ${location}`,
    // A page says what its status says, in more words.
    body.trim().startsWith('<') ? '' : body.trim().slice(0, MAX_BODY_LENGTH),
  ];
  return { cause: `http_${status}`, message: said.filter(Boolean).join(', ') };
}
