/** TLS state that all connections with the same options share. */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import type { TlsOptions } from '../../../../protocol/wire/connection.ts';
import { secureContextOptions } from '../../../../protocol/wire/http-agent.ts';

/** The group that servers without post-quantum cryptography choose from Node's offer. */
const CLASSICAL_GROUP = 'X25519';
/**
 * Offers Node's default key exchanges in the same order, but sends a key share only for X25519 (`*`). By default, OpenSSL also creates an
 * ML-KEM key and keeps it as long as the connection (docs/benchmarks.md).
 */
const CLASSICAL_KEY_ONLY = '?X25519MLKEM768:?*X25519:DEFAULT';

export class TlsContext {
  readonly rejectUnauthorized: boolean;
  /** Last session by verified server name; undefined if sessions are not resumed. */
  readonly sessions: Map<string, Buffer> | undefined;
  readonly #options: SecureContextOptions;
  /** Context with Node's defaults. Shared, so that key and certificates are parsed only once. */
  readonly #full: SecureContext;
  #current: SecureContext;
  /** True if the smaller offer is impossible, or if servers choose other groups. */
  #isSettled = false;

  /** @throws for an impossible key or certificate */
  constructor(options: TlsOptions) {
    const { rejectUnauthorized = true, resume = false } = options;
    this.rejectUnauthorized = rejectUnauthorized;
    this.sessions = resume ? new Map() : undefined;
    this.#options = secureContextOptions(options);
    this.#full = createSecureContext(this.#options);
    this.#current = this.#full;
  }

  /** Context for the next connection. */
  get secureContext(): SecureContext {
    return this.#current;
  }

  /** Adapts the offer to the server's choice. @param group group of the key exchange */
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
      this.#isSettled = true; // OpenSSL before 3.5 has no ML-KEM
      return this.#full;
    }
  }
}

const contexts = new WeakMap<TlsOptions, TlsContext>();

/** @throws for an impossible key or certificate */
export function tlsContextOf(options: TlsOptions): TlsContext {
  return getOrAdd(contexts, options, () => new TlsContext(options));
}
