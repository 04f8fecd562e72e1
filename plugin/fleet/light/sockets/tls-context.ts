/** What the TLS connections with the same options share. */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { TlsOptions } from '../../client.ts';

/** Proxies that prefer HTTP/2 must not choose it: the upgrade exists in HTTP/1.1 only. */
export const ALPN = ['http/1.1'];

export interface TlsContext {
  /** Key and certificates, parsed once for each set of options, not once for each connection. */
  secureContext: SecureContext;
  rejectUnauthorized: boolean;
  /** By the name that the certificate has been checked for, the last session, where connections resume one. */
  sessions: Map<string, Buffer> | undefined;
}

const contexts = new WeakMap<TlsOptions, TlsContext>();

/** @throws for an impossible key or certificate */
export function tlsContextOf(options: TlsOptions): TlsContext {
  let context = contexts.get(options);
  if (context === undefined) {
    const { ca, cert, key, rejectUnauthorized = true, resume = false } = options;
    const secureContext = createSecureContext({ ca, cert, key });
    context = { secureContext, rejectUnauthorized, sessions: resume ? new Map() : undefined };
    contexts.set(options, context);
  }
  return context;
}
