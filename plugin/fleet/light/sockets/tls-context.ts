/** TLS state that all connections with the same TLS options share. */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import type { TlsOptions } from '../../../../protocol/wire/connection.ts';
import { secureContextOptions } from '../../../../protocol/wire/http-agent.ts';

/** Key exchange group that servers without post-quantum cryptography choose from Node's default groups. */
const CLASSICAL_GROUP = 'X25519';
/**
 * Groups of Node's default key exchanges, with a key share only for X25519 (`*`). By default, OpenSSL also creates an
 * ML-KEM key and keeps it until the connection closes (docs/benchmarks.md).
 */
const CLASSICAL_KEY_ONLY = '?X25519MLKEM768:?*X25519:DEFAULT';

export class TlsContext {
  readonly rejectUnauthorized: boolean;
  /** Last TLS session by verified server name; undefined if sessions are not resumed. */
  readonly sessions: Map<string, Buffer> | undefined;
  readonly #options: SecureContextOptions;
  /**
   * TLS context with Node's default groups. Shared by all connections, so key and certificates are parsed only once.
   */
  readonly #full: SecureContext;
  #current: SecureContext;
  /**
   * Whether the offer of TLS key exchange groups can no longer be reduced to X25519: OpenSSL rejects the reduced offer,
   * or a server has chosen another group.
   */
  #isSettled = false;

  /** @throws for an invalid key or certificate */
  constructor(options: TlsOptions) {
    const { rejectUnauthorized = true, resume = false } = options;
    this.rejectUnauthorized = rejectUnauthorized;
    this.sessions = resume ? new Map() : undefined;
    this.#options = secureContextOptions(options);
    this.#full = createSecureContext(this.#options);
    this.#current = this.#full;
  }

  /** TLS context for the next connection. */
  get secureContext(): SecureContext {
    return this.#current;
  }

  /**
   * Chooses the key exchange groups that later connections offer.
   * @param group group that a server has chosen for a connection
   */
  adaptTo(group: string | undefined): void {
    if (this.#isSettled) return;
    if (group !== CLASSICAL_GROUP) {
      this.#isSettled = true;
      this.#current = this.#full;
    } else if (this.#current === this.#full) {
      this.#current = this.#classical();
    }
  }

  #classical(): SecureContext {
    try {
      return createSecureContext({ ...this.#options, ecdhCurve: CLASSICAL_KEY_ONLY });
    } catch {
      this.#isSettled = true; // OpenSSL before 3.5 does not support ML-KEM.
      return this.#full;
    }
  }
}

const contexts = new WeakMap<TlsOptions, TlsContext>();

/**
 * Returns the TLS state for options.
 * @throws for an invalid key or certificate
 */
export function tlsContextOf(options: TlsOptions): TlsContext {
  return getOrAdd(contexts, options, () => new TlsContext(options));
}
