/**
 * TLS connections to the conductor whose certificate is the one of the join line. The fingerprint is the whole trust: whoever signed
 * the certificate, by whatever name or at whatever time the conductor is reached. The conductor checks the rest when it starts.
 */
import { once } from 'node:events';
import { Agent, type AgentOptions } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { fingerprintOf, type Join } from './join-line.ts';

export const CONNECT_TIMEOUT_MS = 5000;
/** OpenSSL's errors: the other side does not speak TLS, or not a version or cipher of ours. Another attempt has the same end. */
const TLS_ERROR = /^(ERR_SSL_|ERR_TLS_|EPROTO$)/;

/**
 * Opens a connection over which nothing has been sent yet.
 * @throws CapacityError BAD_TOKEN if the certificate is another one, CONDUCTOR_UNREACHABLE if TLS fails; Error if another attempt can
 *   succeed
 */
export async function connectPinned({ host, port, fingerprint }: Join): Promise<TLSSocket> {
  const socket = connect({ host, port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  const late = new Error(`no answer within ${CONNECT_TIMEOUT_MS / 1000} s`);
  const timer = setTimeout(() => socket.destroy(late), CONNECT_TIMEOUT_MS);
  try {
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate();
    if (certificate && fingerprintOf(certificate.raw) === fingerprint) return socket;
    throw new CapacityError(
      'BAD_TOKEN',
      `${host}:${port} has another certificate than the one in CAPACITY_CONDUCTOR`,
      'set CAPACITY_CONDUCTOR to the line that this run’s conductor has printed; does something between the hosts break TLS open?',
    );
  } catch (error) {
    socket.on('error', () => {});
    socket.destroy();
    throw lasting(error, `${host}:${port}`) ?? error;
  } finally {
    clearTimeout(timer);
  }
}

function lasting(error: unknown, place: string): CapacityError | undefined {
  const { code = '', reason, message } = error as NodeJS.ErrnoException & { reason?: string };
  if (error instanceof CapacityError || !TLS_ERROR.test(code)) return undefined;
  return new CapacityError(
    'CONDUCTOR_UNREACHABLE',
    `TLS with the conductor at ${place} failed: ${reason ?? message} (${code})`,
    'let the address and port in CAPACITY_CONDUCTOR lead to the conductor itself, not to a proxy that speaks HTTP',
    { cause: error },
  );
}

/** For HTTP requests, which are sent only after the certificate has been checked. */
export class PinnedAgent extends Agent {
  readonly #join: Join;

  constructor(join: Join) {
    super({ keepAlive: false });
    this.#join = join;
  }

  override createConnection(_: AgentOptions, done?: (error: Error | null, socket: TLSSocket) => void): undefined {
    connectPinned(this.#join).then(
      (socket) => done?.(null, socket),
      (error) => done?.(error, undefined as never),
    );
  }
}
