/** How to connect to the target: the engine passes it to its fleet, the run to its own receivers. */

/** `light` supports WebSocket only and needs a few KB per connection; `official` is socket.io-client. */
export type ClientKind = 'light' | 'official';

/** Far more than a broadcast has, and little enough that a process can hold one for each of some connections. */
export const MAX_PAYLOAD_BYTES = 16 * 1024 ** 2;

export interface ConnectionOptions {
  /** http(s)://host:port or ws(s)://host:port. */
  url: string;
  /** Engine.IO path, default `/socket.io/`. */
  path: string;
  /** The light client supports WebSocket only; anything else needs the official client. */
  transports: ('websocket' | 'polling')[];
  query: Record<string, string>;
  headers: Record<string, string>;
  /** Socket.IO CONNECT payload. */
  auth: Record<string, unknown> | undefined;
  tls: TlsOptions;
  /** From the TCP connect to the reply to Socket.IO's CONNECT. */
  connectTimeoutMs: number;
  /** A larger message ends the connection, so that a server cannot fill the generator's memory. */
  maxPayloadBytes?: number;
  /** Source address; by default the kernel chooses. */
  localAddress: string | undefined;
}

/** PEM strings, not paths. */
export interface TlsOptions {
  rejectUnauthorized?: boolean;
  servername?: string;
  ca?: string;
  cert?: string;
  key?: string;
}
