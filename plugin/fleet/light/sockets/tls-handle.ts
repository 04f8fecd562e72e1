/**
 * TLS over a TCP socket, on Node's internal TLS handle. Node's own TLS sockets have a separate read buffer for each
 * connection, whose cost is in docs/benchmarks.md. Here all connections share a buffer. The handle is not public API.
 */
import { checkServerIdentity } from 'node:tls';
import { type ErrorNumber, systemError, tcpBindings } from './tcp-handle.ts';
import {
  type EncryptedSide,
  onTlsWritten,
  openTlsStream,
  type TlsOwner,
  type TlsStream,
  tlsBindings,
} from './tls-bindings.ts';
import type { TlsContext } from './tls-context.ts';
import type { Wire, WireListener } from './wire.ts';

type DialCarrier = (listener: WireListener) => Wire;

/**
 * ALPN list with its length prefix. Offers only HTTP/1.1, because an HTTP/2 connection cannot be upgraded to WebSocket
 * in this way.
 */
const ALPN_PROTOCOLS = Buffer.from('\x08http/1.1');
/** Read buffer of all connections of the process. Each chunk is processed before the next chunk is read. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Opens a TLS connection.
 * @param name host name or address that the certificate must match
 * @param servername name for SNI; undefined for an address
 * @param dialCarrier connects the TCP socket
 * @throws Error if this version of Node does not have the internals; errors of `dialCarrier`
 */
export function dialTlsHandle(
  listener: WireListener,
  name: string,
  servername: string | undefined,
  context: TlsContext,
  dialCarrier: DialCarrier,
): Wire {
  if (tlsBindings === undefined) throw new Error('this version of Node has no TLS handles');
  const handle = new TlsHandle(listener, name, servername, context);
  handle.connect(dialCarrier);
  return handle;
}

class TlsHandle implements Wire, WireListener, TlsOwner {
  listener: WireListener | undefined;
  readonly #name: string;
  readonly #servername: string | undefined;
  readonly #context: TlsContext;
  #carrier: Wire | undefined = undefined;
  #below: EncryptedSide | undefined = undefined;
  #stream: TlsStream | undefined = undefined;
  #isSecure = false;
  #isEnding = false;
  #hasFailed = false;
  #earlySession: Buffer | undefined = undefined;
  /** Whether a write is pending. Node's TLS accepts one write at a time, so further data waits. */
  #isWriting = false;
  #waiting: Uint8Array[] | undefined = undefined;
  #waitingBytes = 0;

  constructor(listener: WireListener, name: string, servername: string | undefined, context: TlsContext) {
    this.listener = listener;
    this.#name = name;
    this.#servername = servername;
    this.#context = context;
  }

  connect(dialCarrier: DialCarrier): void {
    this.#carrier = dialCarrier(this);
  }

  onTcpOpen(): void {}

  onWireOpen(): void {
    this.listener?.onTcpOpen();
    if (this.listener === undefined) return;
    const { secureContext, rejectUnauthorized, sessions } = this.#context;
    const { below, stream } = openTlsStream(this, secureContext);
    this.#below = below;
    this.#stream = stream;
    stream.setVerifyMode(true, rejectUnauthorized);
    stream.setALPNProtocols(ALPN_PROTOCOLS);
    if (this.#servername !== undefined) stream.setServername(this.#servername);
    if (sessions) {
      const session = sessions.get(this.#name);
      stream.enableSessionCallbacks();
      if (session) stream.setSession(session);
    }
    stream.useUserBuffer(readBuffer);
    stream.readStart();
    stream.start();
  }

  handshakeDone(stream: TlsStream): void {
    if (this.listener === undefined) return;
    const error = this.#context.rejectUnauthorized ? this.#certificateError(stream) : undefined;
    if (error) {
      this.endWith(error);
      return;
    }
    this.#isSecure = true;
    this.#context.adaptTo(stream.getEphemeralKeyInfo()?.name);
    if (this.#earlySession) this.keepSession(this.#earlySession);
    this.listener.onWireOpen(stream.isSessionReused());
  }

  /** Returns the error if the server's certificate cannot be trusted. */
  #certificateError(stream: TlsStream): NodeJS.ErrnoException | undefined {
    const error = stream.verifyError();
    // A resumed session proves the identity of the server that issued it.
    if (error || stream.isSessionReused()) return error ?? undefined;
    return checkServerIdentity(this.#name, stream.getPeerCertificate(false));
  }

  /** Stores the TLS session if the server is verified. TLS 1.2 issues a session before the handshake ends. */
  keepSession(session: Buffer): void {
    if (this.#isSecure) this.#context.sessions?.set(this.#name, session);
    else this.#earlySession = session;
  }

  /** Passes encrypted bytes from the TCP socket to TLS. */
  feed(bytes: Buffer, start: number, end: number): void {
    this.#below?.readBuffer(bytes.subarray(start, end));
  }

  /** Passes decrypted bytes from `readBuffer` to the listener. */
  read(sizeBytesOrError: number): void {
    if (sizeBytesOrError > 0) this.listener?.feed(readBuffer, 0, sizeBytesOrError);
    else if (sizeBytesOrError < 0) this.onWireClosed();
  }

  get writableLength(): number {
    return this.#waitingBytes + (this.#carrier?.writableLength ?? 0);
  }

  write(bytes: Uint8Array): void {
    if (this.listener === undefined) return;
    if (!this.#isWriting) {
      this.#encrypt(bytes);
      return;
    }
    this.#waiting ??= [];
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #encrypt(bytes: Uint8Array): void {
    if (tcpBindings === undefined || this.#stream === undefined) return;
    this.#isWriting = true;
    const request = Object.assign(new tcpBindings.WriteWrap(), { oncomplete: onTlsWritten, wire: this });
    const status = this.#stream.writeBuffer(request, bytes);
    // The error is reported asynchronously, because the caller has not returned yet.
    if (status !== 0) process.nextTick(() => this.endWith(systemError(status, 'write')));
  }

  /** Sends encrypted bytes on the TCP socket. */
  send(chunks: Uint8Array[]): void {
    for (const chunk of chunks) this.#carrier?.write(chunk);
  }

  written(status: ErrorNumber): void {
    this.#isWriting = false;
    if (this.listener === undefined) return;
    if (status !== 0) {
      this.endWith(systemError(status, 'write'));
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#waitingBytes = 0;
    if (waiting) this.#encrypt(Buffer.concat(waiting));
    else if (this.#isEnding) this.#shutDown();
  }

  end(bytes?: Uint8Array): void {
    if (this.listener === undefined) return;
    if (bytes) this.write(bytes);
    this.#isEnding = true;
    if (!this.#isWriting) this.#shutDown();
  }

  #shutDown(): void {
    if (tcpBindings === undefined) return;
    const request = new tcpBindings.ShutdownWrap();
    request.oncomplete = () => {};
    this.#stream?.shutdown(request);
  }

  /** Ends the TCP socket, after TLS has sent its close notification. */
  sendEnd(): void {
    this.#carrier?.end();
  }

  destroy(): void {
    if (this.listener === undefined) return;
    this.listener = undefined;
    this.#carrier?.destroy();
    // OpenSSL's state is freed here, outside of its callbacks: the garbage collector does not know its size.
    const stream = this.#stream;
    if (stream) setImmediate(() => stream.destroySSL());
  }

  endWith(error: NodeJS.ErrnoException): void {
    this.onWireError(error);
    this.onWireClosed();
  }

  onWireError(error: NodeJS.ErrnoException): void {
    this.#hasFailed = true;
    this.listener?.onWireError(error);
  }

  onWireClosed(): void {
    const { listener } = this;
    if (listener === undefined) return;
    if (this.#stream && !this.#isSecure && !this.#hasFailed) listener.onWireError(disconnected());
    this.destroy();
    listener.onWireClosed();
  }
}

/** Returns the error that tls.connect reports when the connection ends before it is secure. */
function disconnected(): NodeJS.ErrnoException {
  const message = 'Client network socket disconnected before secure TLS connection was established';
  return Object.assign(new Error(message), { code: 'ECONNRESET' });
}
