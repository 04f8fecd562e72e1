/** The interface between a connection and its socket. */

/** Limit of bytes that the server has not read; above it, the next send closes the connection. */
export const MAX_UNSENT_BYTES = 16 * 1024 ** 2;

/** The part of net.Socket that connections use. */
export interface Wire {
  /** Can be replaced by another reader. */
  listener: WireListener | undefined;
  /** Bytes that the kernel has not accepted yet; may include the overhead of keeping them. */
  readonly writableLength: number;
  write(bytes: Uint8Array): unknown;
  end(): unknown;
  end(bytes: Uint8Array): unknown;
  destroy(): unknown;
}

/** The reader of a wire. */
export interface WireListener {
  /** Called only with TLS, when TCP is connected and the TLS handshake begins. */
  onTcpOpen(): void;
  /** Called when bytes can be sent. @param tlsResumed whether the handshake resumed an earlier session */
  onWireOpen(tlsResumed: boolean): void;
  /** Called with bytes from the server, split anywhere. They are valid only during the call. */
  feed(bytes: Buffer, start: number, end: number): void;
  /** Called with the error that closes the wire; `onWireClosed` follows. */
  onWireError(error: NodeJS.ErrnoException): void;
  /** Called when the TCP connection is closed by either side. */
  onWireClosed(): void;
}
