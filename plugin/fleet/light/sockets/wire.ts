/** Interface of a connection's socket: plain TCP or TLS, on Node's handles or on net.Socket. */

/** Largest number of outgoing bytes that the server has not read. Above it, the next send closes the connection. */
export const MAX_UNSENT_BYTES = 16 * 1024 ** 2;

/** Part of the net.Socket interface that connections use. */
export interface Wire {
  /** Receiver of the socket's events. It can be replaced while the socket is open. */
  listener: WireListener | undefined;
  /** Number of outgoing bytes that the kernel has not accepted yet. May include the memory overhead of storing them. */
  readonly writableLength: number;
  write(bytes: Uint8Array): unknown;
  end(): unknown;
  end(bytes: Uint8Array): unknown;
  destroy(): unknown;
}

/** Receiver of a socket's events. */
export interface WireListener {
  /** Called when TCP is connected and the TLS handshake begins. Not called without TLS. */
  onTcpOpen(): void;
  /** Called when bytes can be sent. @param tlsResumed whether the handshake resumed an earlier session */
  onWireOpen(tlsResumed: boolean): void;
  /**
   * Called with bytes from the server. They can begin and end anywhere in a message, and are valid only during the
   * call.
   */
  feed(bytes: Buffer, start: number, end: number): void;
  /** Called with the error that closes the socket; `onWireClosed` follows. */
  onWireError(error: NodeJS.ErrnoException): void;
  /** Called when the TCP connection is closed by either side. */
  onWireClosed(): void;
}
