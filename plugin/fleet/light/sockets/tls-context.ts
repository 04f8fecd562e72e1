/** What the TLS connections with the same options share. */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import type { TlsOptions } from '../../../../protocol/wire/connection.ts';
import { secureContextOptions } from '../../../../protocol/wire/http-agent.ts';

/** What servers without post-quantum cryptography choose, of all that Node offers. */
const CLASSICAL_GROUP = 'X25519';
/**
 * Offers the same key exchanges as Node does by default, in the same order, but sends a key for one of them only (`*`).
 * OpenSSL otherwise makes an ML-KEM key, too, and keeps it as long as the connection (docs/benchmarks.md).
 */
const CLASSICAL_KEY_ONLY = '?X25519MLKEM768:?*X25519:DEFAULT';

export class TlsContext {
  readonly rejectUnauthorized: boolean;
  /** By the name that the certificate has been checked for, the last session, where connections resume one. */
  readonly sessions: Map<string, Buffer> | undefined;
  readonly #options: SecureContextOptions;
  /** With all of Node's defaults. Key and certificates are parsed once, not once for each connection. */
  readonly #full: SecureContext;
  #current: SecureContext;
  /** Nothing is to be gained, or the choice of the servers cannot be foreseen. */
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

  /** For the next connection. */
  get secureContext(): SecureContext {
    return this.#current;
  }

  /** @param group of the key exchange that a server has chosen */
  serverChose(group: string | undefined): void {
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
      this.#isSettled = true; // an OpenSSL before 3.5, which has no ML-KEM
      return this.#full;
    }
  }
}

const contexts = new WeakMap<TlsOptions, TlsContext>();

/** @throws for an impossible key or certificate */
export function tlsContextOf(options: TlsOptions): TlsContext {
  return getOrAdd(contexts, options, () => new TlsContext(options));
}
