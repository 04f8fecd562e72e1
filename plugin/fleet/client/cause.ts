/** Short, stable names for why a connection attempt failed: results count and compare them. */
import { constants } from 'node:os';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';

/** What getaddrinfo reports beyond the system's errno names. */
const NAME_LOOKUP = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ENODATA']);

/**
 * @returns the errno name (`ECONNREFUSED`, `EMFILE`, …), `tls_<code>` for an error of TLS, or Node's own error code;
 *   `closed` if there is none
 */
export function networkCause(error: NodeJS.ErrnoException): FailureCode {
  const code = error.code;
  if (code === undefined || code === '') return 'closed';
  // EPROTO is an errno name, but Node uses it only for errors of OpenSSL.
  if (code === 'EPROTO') return 'tls_EPROTO';
  if (code in constants.errno || NAME_LOOKUP.has(code)) return code as FailureCode;
  // Certificate errors carry OpenSSL's verification names: CERT_HAS_EXPIRED, DEPTH_ZERO_SELF_SIGNED_CERT, …
  const fromTls = /^ERR_(TLS|SSL|OSSL)_/.test(code) || !code.startsWith('ERR_');
  return fromTls ? `tls_${code}` : (code as FailureCode);
}
