/** Node's own handle for TLS, which is not public API: what this client uses of it, and whether it is there. */
import type { EphemeralKeyInfo, PeerCertificate } from 'node:tls';
import { bindings, type ErrorNumber, type Request } from './tcp-handle.ts';

/** The encrypted side: what TLS writes goes to the wire below, and what that receives is put in. */
export interface Below {
  readBuffer(bytes: Uint8Array): void;
  finishWrite(request: unknown, status: ErrorNumber): void;
  finishShutdown(request: unknown, status: ErrorNumber): void;
}

export interface TlsStream {
  onnewsession: (sessionId: Buffer, session: Buffer) => void;
  setVerifyMode(requestCertificate: boolean, rejectUnauthorized: boolean): void;
  setALPNProtocols(protocols: Buffer): void;
  setServername(name: string): void;
  setSession(session: Buffer): void;
  enableSessionCallbacks(): void;
  useUserBuffer(buffer: Uint8Array): void;
  readStart(): ErrorNumber;
  start(): void;
  isSessionReused(): boolean;
  verifyError(): NodeJS.ErrnoException | null;
  getPeerCertificate(withIssuers: boolean): PeerCertificate;
  /** Of the key exchange; its type and size depend on the group. */
  getEphemeralKeyInfo(): Partial<EphemeralKeyInfo> | null;
  writeBuffer(request: Request, bytes: Uint8Array): ErrorNumber;
  shutdown(request: Request): ErrorNumber;
  destroySSL(): void;
}

interface TlsBindings {
  JSStream: new () => Below;
  wrap(below: Below, context: unknown, isServer: boolean, hasActiveWrite: boolean): TlsStream;
}

/** Undefined if this version of Node lacks them. */
export const tlsBindings = load();

function load(): TlsBindings | undefined {
  if (!bindings) return undefined;
  const { binding } = process as unknown as { binding: (name: string) => Record<string, unknown> };
  try {
    const { JSStream } = binding('js_stream');
    const { wrap } = binding('tls_wrap');
    if (typeof JSStream !== 'function' || typeof wrap !== 'function') return undefined;
    return { JSStream, wrap } as unknown as TlsBindings;
  } catch {
    return undefined; // removed, or closed off by the permission model
  }
}
