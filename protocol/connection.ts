/** How a connection to the target is made: the engine hands it to its fleet, the run to its own receivers. */

/** `light` speaks WebSocket only and costs a few KB a connection; `official` is socket.io-client. */
export type ClientKind = 'light' | 'official';

/** Far more than a broadcast has, and little enough that a process can hold one for each of some connections. */
export const MAX_PAYLOAD_BYTES = 16 * 1024 ** 2;

export interface ConnectionOptions {
  /** http(s)://host:port, ws(s):// likewise. */
  url: string;
  /** Engine.IO path, default `/socket.io/`. */
  path: string;
  /** The light client speaks WebSocket only; anything else needs the official client. */
  transports: ('websocket' | 'polling')[];
  query: Record<string, string>;
  headers: Record<string, string>;
  /** Socket.IO CONNECT payload. */
  auth: Record<string, unknown> | undefined;
  tls: TlsOptions;
  /** For the whole way from TCP connect to the Socket.IO CONNECT answer. */
  connectTimeoutMs: number;
  /** A larger message ends the connection, so that a server cannot fill the generator's memory. */
  maxPayloadBytes?: number;
  /** Source address; undefined leaves it to the kernel. */
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
