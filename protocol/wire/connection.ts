/** Connection options of the target, used by the engine's fleet and by the run's own receivers. */
import type { LookupAddress } from 'node:dns';

/** Socket.IO's reason when the client closed the connection. */
export const OWN_DISCONNECT = 'io client disconnect';

/** `light` needs a few KB per connection; `official` is socket.io-client. */
export type ClientKind = 'light' | 'official';

export type Transport = 'websocket' | 'polling';

/** Transports by name, as in the environment variable TRANSPORTS; `default` is socket.io-client's default. */
export const TRANSPORTS = {
  default: ['polling', 'websocket'],
  websocket: ['websocket'],
  polling: ['polling'],
} as const satisfies Record<string, readonly Transport[]>;

export type TransportsName = keyof typeof TRANSPORTS;

/** TCP connections per open connection: polling has one for its poll and one for posts. */
export const SOCKETS_PER_CONNECTION: Record<TransportsName, number> = { default: 1, websocket: 1, polling: 2 };

/**
 * TCP connections per connection that the light client closes itself, when a connection opens (those for polling after an upgrade) and when
 * it closes. Their ports stay in TIME_WAIT. For connections that the server closes, such as WebSockets after the close handshake, and all
 * of the official client, TIME_WAIT is on the server's side.
 */
export const SOCKETS_LEFT_BEHIND: Record<TransportsName, { opening: number; leaving: number }> = {
  default: { opening: 2, leaving: 0 },
  websocket: { opening: 0, leaving: 0 },
  polling: { opening: 0, leaving: 2 },
};

/** Returns the name of a list of transports: a connection that begins with WebSocket is never upgraded. */
export function transportsName(transports: readonly Transport[]): TransportsName {
  if (transports[0] === 'websocket') return 'websocket';
  return transports.includes('websocket') ? 'default' : 'polling';
}

/** Default limit of a message: far larger than a broadcast, but small enough for a process to buffer several. */
export const MAX_PAYLOAD_BYTES = 16 * 1024 ** 2;

export interface ConnectionOptions {
  /** http(s)://host:port or ws(s)://host:port. */
  url: string;
  /** Engine.IO path, as requested: default `/socket.io/`. */
  path: string;
  /** A connection begins with the first transport, and upgrades from polling to WebSocket if both are listed. */
  transports: readonly Transport[];
  query: Record<string, string>;
  headers: Record<string, string>;
  /** Socket.IO CONNECT payload. */
  auth: Record<string, unknown> | undefined;
  tls: TlsOptions;
  /** Whether to offer permessage-deflate to the server, as browsers do; default: no. */
  compression?: boolean;
  /** File of a module with another parser than Socket.IO's default. */
  parser?: string | undefined;
  /** Arguments with which events are acknowledged if the server requests it; undefined never acknowledges. */
  acknowledge?: unknown[] | undefined;
  /** Timeout from the TCP connect to the reply to Socket.IO's CONNECT. */
  connectTimeoutMs: number;
  /** Limit of a message; a larger one closes the connection, so that a server cannot fill the generator's memory. */
  maxPayloadBytes?: number;
  /** Source address; by default the kernel chooses. */
  localAddress: string | undefined;
  /** Address of the host to use, for the official client; by default the lookup's. */
  address?: LookupAddress;
}

/** Repetition of attempts, with a delay that doubles each time. */
export interface Backoff {
  attempts: number;
  delayMs: number;
  maxDelayMs: number;
  /** Random share of the delay, 0 to 1. */
  jitter: number;
}

/** PEM strings, not paths. */
export interface TlsOptions {
  rejectUnauthorized?: boolean;
  servername?: string;
  ca?: string;
  cert?: string;
  key?: string;
  /** Whether connections resume an earlier connection's TLS session if the server allows it. Light client only. */
  resume?: boolean;
}

/**
 * `total` is the time from the first `connect()` (repeats included) to the reply to Socket.IO's CONNECT. `change` is not part of it: the
 * time from the Engine.IO handshake on polling until the transport is WebSocket.
 */
export type ConnectStage = 'total' | 'tcp' | 'tls' | 'upgrade' | 'open' | 'namespace' | 'change';
export const CONNECT_STAGES: ConnectStage[] = ['total', 'tcp', 'tls', 'upgrade', 'open', 'namespace', 'change'];
