/** Makes sure that whoever listens has the certificate of the join line, before the token is sent. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { CapacityError } from '../../../protocol/errors.ts';
import { fingerprintOf, type Join } from './join-line.ts';

const TIMEOUT_MS = 5000;

/**
 * @returns the certificate as PEM, the only authority that connections to this conductor are to trust
 * @throws CapacityError JOIN_LINE_WRONG if it is another one; Error if nobody answers
 */
export async function pinnedCertificate({ host, port, fingerprint }: Join): Promise<string> {
  const socket = connect({ host, port, rejectUnauthorized: false });
  const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
  try {
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate();
    if (!certificate || fingerprintOf(certificate.raw) !== fingerprint) {
      throw new CapacityError(
        'JOIN_LINE_WRONG',
        `${host}:${port} has another certificate than the one in CAPACITY_CONDUCTOR`,
        'set CAPACITY_CONDUCTOR to the line that this run’s conductor has printed; does something between the hosts break TLS open?',
      );
    }
    return certificate.toString();
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
