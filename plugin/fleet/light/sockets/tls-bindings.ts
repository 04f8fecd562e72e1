/** Parts of Node's internal TLS handle that this client uses, and its callbacks. They are not public API. */
import type { EphemeralKeyInfo, PeerCertificate, SecureContext } from 'node:tls';
import { type ErrorNumber, type TcpRequest, tcpBindings } from './tcp-handle.ts';

/** Encrypted side of a TLS stream. It exchanges encrypted bytes between TLS and the TCP socket. */
export interface EncryptedSide {
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
  /** Returns the key exchange of the connection. Its type and size depend on the key exchange group. */
  getEphemeralKeyInfo(): Partial<EphemeralKeyInfo> | null;
  writeBuffer(request: TcpRequest, bytes: Uint8Array): ErrorNumber;
  shutdown(request: TcpRequest): ErrorNumber;
  destroySSL(): void;
}

interface TlsBindings {
  JSStream: new () => EncryptedSide;
  wrap(below: EncryptedSide, context: unknown, isServer: boolean, hasActiveWrite: boolean): TlsStream;
}

/** Node's internal TLS objects; undefined if this version of Node does not have them. */
export const tlsBindings = load();

function load(): TlsBindings | undefined {
  if (!tcpBindings) return undefined;
  const { binding } = process as unknown as { binding: (name: string) => Record<string, unknown> };
  try {
    const { JSStream } = binding('js_stream');
    const { wrap } = binding('tls_wrap');
    if (typeof JSStream !== 'function' || typeof wrap !== 'function') return undefined;
    return { JSStream, wrap } as unknown as TlsBindings;
  } catch {
    return undefined; // This version of Node lacks the internal modules, or its permission model blocks them.
  }
}

/** Callbacks of a TLS stream to the object that owns it. */
export interface TlsOwner {
  /** Sends encrypted bytes on the TCP socket. */
  send(chunks: Uint8Array[]): void;
  /** Ends the TCP socket, after TLS has sent its close notification. */
  sendEnd(): void;
  /** Called when decrypted bytes are in the stream's buffer, or with a negative error number. */
  read(sizeBytesOrError: number): void;
  handshakeDone(stream: TlsStream): void;
  keepSession(session: Buffer): void;
  written(status: ErrorNumber): void;
  endWith(error: NodeJS.ErrnoException): void;
}

type Owned<T> = T & { wire: TlsOwner };

/** Requires `tlsBindings`. */
export function openTlsStream(wire: TlsOwner, { context }: SecureContext): { below: EncryptedSide; stream: TlsStream } {
  const { JSStream, wrap } = tlsBindings as TlsBindings;
  const below = Object.assign(new JSStream(), BELOW, { wire });
  const stream = Object.assign(wrap(below, context, false, false), EVENTS, { wire });
  return { below, stream };
}

const BELOW = {
  isClosing: () => false,
  onreadstart: () => 0,
  onreadstop: () => 0,
  onwrite(this: Owned<EncryptedSide>, request: unknown, chunks: Uint8Array[]): ErrorNumber {
    this.wire.send(chunks);
    process.nextTick(finishWrite, this, request);
    return 0;
  },
  onshutdown(this: Owned<EncryptedSide>, request: unknown): ErrorNumber {
    this.wire.sendEnd();
    process.nextTick(finishShutdown, this, request);
    return 0;
  },
};

const EVENTS = {
  onread(this: Owned<TlsStream>): void {
    if (tcpBindings) this.wire.read(tcpBindings.streamBaseState[tcpBindings.kReadBytesOrError] ?? 0);
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

function finishWrite(below: EncryptedSide, request: unknown): void {
  below.finishWrite(request, 0);
}

function finishShutdown(below: EncryptedSide, request: unknown): void {
  below.finishShutdown(request, 0);
}

/** Called when a write to the TLS stream has completed. */
export function onTlsWritten(this: TcpRequest, status: ErrorNumber): void {
  (this as Owned<TcpRequest>).wire.written(status);
}
