/**
 * Opens TLS connections to the conductor. The certificate must have the hash in the join token. Issuer, name and
 * validity of the certificate are not checked here; the conductor checks the validity of a certificate from a folder
 * when it starts.
 */
import { once } from 'node:events';
import { Agent, type AgentOptions } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { JOIN_TIMEOUT_MS } from './host-messages.ts';
import { fingerprintOf, type JoinAddress } from './join-token.ts';

export const CONDUCTOR_CONNECT_TIMEOUT_MS = 5000;
const RETRY_MS = 1000;
/**
 * Pattern of OpenSSL errors after which a retry is useless: the other side does not use TLS, or both sides have no TLS
 * version or cipher in common.
 */
const TLS_ERROR = /^(ERR_SSL_|ERR_TLS_|EPROTO$)/;

/**
 * Opens a connection to the conductor, and checks the certificate before any data is sent.
 * @throws CapacityError BAD_TOKEN if the certificate differs, CONDUCTOR_UNREACHABLE if TLS fails; Error if a retry can
 * succeed
 */
export async function connectPinned({ host, port, fingerprint }: JoinAddress): Promise<TLSSocket> {
  const socket = connect({ host, port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  const timeout = new Error(`no answer within ${CONDUCTOR_CONNECT_TIMEOUT_MS / 1000} s`);
  const timer = setTimeout(() => socket.destroy(timeout), CONDUCTOR_CONNECT_TIMEOUT_MS);
  try {
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate();
    if (certificate && fingerprintOf(certificate.raw) === fingerprint) return socket;
    throw new CapacityError(
      'BAD_TOKEN',
      `${host}:${port} has a different certificate than the one in CAPACITY_CONDUCTOR`,
      'set CAPACITY_CONDUCTOR to the value that this run’s conductor printed; if it is, look for a proxy that intercepts TLS',
    );
  } catch (error) {
    socket.on('error', () => {});
    socket.destroy();
    throw permanentError(error, `${host}:${port}`) ?? error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Sends a request every second until the conductor answers with a value, because the conductor may start after its
 * hosts.
 * @throws CapacityError CONDUCTOR_UNREACHABLE after ten minutes, errors after which a retry is useless; the signal's
 * reason
 */
export async function askUntilAnswered<T>(
  join: JoinAddress,
  signal: AbortSignal,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const deadlineMs = performance.now() + JOIN_TIMEOUT_MS;
  for (;;) {
    signal.throwIfAborted();
    let cause: unknown = new Error('it needs no further host');
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      if (error instanceof CapacityError) throw error;
      cause = error;
    }
    if (performance.now() > deadlineMs) throw conductorUnreachableError(join, cause);
    await delay(RETRY_MS, undefined, { signal });
  }
}

export function conductorUnreachableError({ host, port }: JoinAddress, cause: unknown): CapacityError {
  return new CapacityError(
    'CONDUCTOR_UNREACHABLE',
    `the conductor at ${host}:${port} cannot be reached: ${(cause as NodeJS.ErrnoException).code ?? (cause as Error).message}`,
    undefined,
    { cause },
  );
}

function permanentError(error: unknown, address: string): CapacityError | undefined {
  const { code = '', reason, message } = error as NodeJS.ErrnoException & { reason?: string };
  if (error instanceof CapacityError || !TLS_ERROR.test(code)) return undefined;
  return new CapacityError(
    'CONDUCTOR_UNREACHABLE',
    `TLS with the conductor at ${address} failed: ${reason ?? message} (${code})`,
    'point the address and port in CAPACITY_CONDUCTOR at the conductor itself, not at an HTTP proxy',
    { cause: error },
  );
}

/** An HTTPS agent that checks the certificate before it sends a request. */
export class PinnedAgent extends Agent {
  readonly #join: JoinAddress;

  constructor(join: JoinAddress) {
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
