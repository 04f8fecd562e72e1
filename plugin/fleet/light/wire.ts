/** The interface between a connection and its socket. */

/** The part of a net.Socket that is needed. */
export interface Wire {
  /** Bytes that the kernel has not taken yet. */
  readonly writableLength: number;
  write(bytes: Uint8Array): unknown;
  end(): unknown;
  end(bytes: Uint8Array): unknown;
  destroy(): unknown;
}

/** The reader of a wire. */
export interface WireListener {
  /** TCP is connected; TLS, if any, follows. */
  onTcpOpen(): void;
  /** Bytes can be sent. */
  onWireOpen(): void;
  /** Bytes from the server, split anywhere. They are read in place and may be overwritten afterwards. */
  feed(bytes: Buffer, start: number, end: number): void;
  /** The error that ends the wire; `onWireClosed` follows. */
  onWireError(error: NodeJS.ErrnoException): void;
  /** The TCP connection has ended, whoever ended it. */
  onWireClosed(): void;
}
