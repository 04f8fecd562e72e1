/** Node's own handle for TLS, which is not public API: what this client uses of it, and how it calls back. */
import type { EphemeralKeyInfo, PeerCertificate, SecureContext } from 'node:tls';
import { bindings, type ErrorNumber, type Request } from './tcp-handle.ts';

/** The encrypted side: what TLS writes goes to the wire below, and what that receives is put in. */
export interface Below {
  readBuffer(bytes: Uint8Array): void;
  finishWrite(request: unknown, status: ErrorNumber): void;
  finishShutdown(request: unknown, status: ErrorNumber): void;
}

export interface TlsStream {
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
  /** The key exchange; its type and size depend on the group. */
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

/** Whose callbacks they call. */
export interface TlsOwner {
  /** Encrypted bytes, for the wire below. */
  send(chunks: Uint8Array[]): void;
  /** TLS has said that nothing more follows. */
  sendEnd(): void;
  /** Decrypted bytes are in the buffer that the stream uses, or an error. */
  read(sizeBytesOrError: number): void;
  handshakeDone(stream: TlsStream): void;
  keepSession(session: Buffer): void;
  written(status: ErrorNumber): void;
  endWith(error: NodeJS.ErrnoException): void;
}

type Owned<T> = T & { wire: TlsOwner };

/** Only where `tlsBindings` is there. */
export function openTls(wire: TlsOwner, { context }: SecureContext): { below: Below; stream: TlsStream } {
  const { JSStream, wrap } = tlsBindings as TlsBindings;
  const below = Object.assign(new JSStream(), BELOW, { wire });
  const stream = Object.assign(wrap(below, context, false, false), EVENTS, { wire });
  return { below, stream };
}

const BELOW = {
  isClosing: () => false,
  onreadstart: () => 0,
  onreadstop: () => 0,
  onwrite(this: Owned<Below>, request: unknown, chunks: Uint8Array[]): ErrorNumber {
    this.wire.send(chunks);
    process.nextTick(finishWrite, this, request);
    return 0;
  },
  onshutdown(this: Owned<Below>, request: unknown): ErrorNumber {
    this.wire.sendEnd();
    process.nextTick(finishShutdown, this, request);
    return 0;
  },
};

const EVENTS = {
  onread(this: Owned<TlsStream>): void {
    if (bindings) this.wire.read(bindings.streamBaseState[bindings.kReadBytesOrError] ?? 0);
  },
  onhandshakestart() {},
  onnewsession(this: Owned<TlsStream>, _sessionId: Buffer, session: Buffer): void {
    this.wire.keepSession(session);
  },
  onhandshakedone(this: Owned<TlsStream>): void {
    this.wire.handshakeDone(this);
  },
  onerror(this: Owned<TlsStream>, error: NodeJS.ErrnoException): void {
    this.wire.endWith(error);
  },
};

function finishWrite(below: Below, request: unknown): void {
  below.finishWrite(request, 0);
}

function finishShutdown(below: Below, request: unknown): void {
  below.finishShutdown(request, 0);
}

/** Ends a write to the stream by the stream's owner. */
export function onWritten(this: Request, status: ErrorNumber): void {
  (this as Owned<Request>).wire.written(status);
}
