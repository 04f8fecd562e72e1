/** The interface between a connection and its socket. */

/** A connection whose server leaves more than this unread ends when it is to send the next message, of whatever size. */
export const MAX_UNSENT_BYTES = 16 * 1024 ** 2;

/** The part of a net.Socket that is needed. */
export interface Wire {
  /** Can be replaced: another reader then takes over. */
  listener: WireListener | undefined;
  /** Bytes that the kernel has not taken yet; a wire may add what it needs to keep them. */
  readonly writableLength: number;
  write(bytes: Uint8Array): unknown;
  end(): unknown;
  end(bytes: Uint8Array): unknown;
  destroy(): unknown;
}

/** The reader of a wire. */
export interface WireListener {
  /** Only with TLS: TCP is connected, and the TLS handshake follows. */
  onTcpOpen(): void;
  /** Bytes can be sent. @param tlsResumed the handshake resumed an earlier session */
  onWireOpen(tlsResumed: boolean): void;
  /** Bytes from the server, split anywhere. They are read in place and may be overwritten afterwards. */
  feed(bytes: Buffer, start: number, end: number): void;
  /** The error that ends the wire; `onWireClosed` follows. */
  onWireError(error: NodeJS.ErrnoException): void;
  /** The TCP connection has ended, whoever ended it. */
  onWireClosed(): void;
}
