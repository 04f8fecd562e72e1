/** Short stable names for what stopped a connection attempt: people count and compare them. */
import { constants } from 'node:os';
import type { FailureCode } from '../../protocol/failure-codes.ts';

/** What getaddrinfo reports beyond the system's errno names. */
const NAME_LOOKUP = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ENODATA']);

/**
 * @returns the errno name (`ECONNREFUSED`, `EMFILE`, …), `tls_<code>` for what TLS itself refused, or Node's own error
 *   code; `closed` when there is none
 */
export function networkCause(error: NodeJS.ErrnoException): FailureCode {
  const code = error.code;
  if (code === undefined || code === '') return 'closed';
  // The system knows EPROTO, but Node uses it only for OpenSSL's complaints.
  if (code === 'EPROTO') return 'tls_EPROTO';
  if (code in constants.errno || NAME_LOOKUP.has(code)) return code as FailureCode;
  // Certificate errors carry OpenSSL's verification names: CERT_HAS_EXPIRED, DEPTH_ZERO_SELF_SIGNED_CERT, …
  const fromTls = /^ERR_(TLS|SSL|OSSL)_/.test(code) || !code.startsWith('ERR_');
  return fromTls ? `tls_${code}` : (code as FailureCode);
}
