/** Connection options of the target. The fleet processes and the run's own receivers use the same options. */
import type { LookupAddress } from 'node:dns';

/** Socket.IO's reason when the client closed the connection. */
export const CLIENT_DISCONNECT_REASON = 'io client disconnect';

/** Kind of client. `light` needs a few KB per connection; `official` is socket.io-client. */
export type ClientKind = 'light' | 'official';

export type Transport = 'websocket' | 'polling';

/**
 * Transports by name, as used in the environment variable TRANSPORTS. The name `default` stands for the default
 * transports of socket.io-client.
 */
export const TRANSPORTS = {
  default: ['polling', 'websocket'],
  websocket: ['websocket'],
  polling: ['polling'],
} as const satisfies Record<string, readonly Transport[]>;

export type TransportsName = keyof typeof TRANSPORTS;

/** Number of TCP connections per open Socket.IO connection. Polling has one for the poll and one for posts. */
export const SOCKETS_PER_CONNECTION: Record<TransportsName, number> = { default: 1, websocket: 1, polling: 2 };

/**
 * Number of TCP connections that the light client itself closes: when a connection opens (polling, after an upgrade),
 * and when it closes. Their ports stay in TIME_WAIT on the client. If the server closes a TCP connection, the port
 * stays in TIME_WAIT on the server. The server closes the connections of the official client, and WebSocket connections
 * with a close handshake.
 */
export const SOCKETS_CLOSED_BY_CLIENT: Record<TransportsName, { opening: number; leaving: number }> = {
  default: { opening: 2, leaving: 0 },
  websocket: { opening: 0, leaving: 0 },
  polling: { opening: 0, leaving: 2 },
};

/** Returns the name that stands for a list of transports. A connection that starts with WebSocket is never upgraded. */
export function transportsName(transports: readonly Transport[]): TransportsName {
  if (transports[0] === 'websocket') return 'websocket';
  return transports.includes('websocket') ? 'default' : 'polling';
}

/**
 * Default maximum size of a received message in bytes. A broadcast is far smaller, and a process can buffer several
 * messages of this size.
 */
export const MAX_PAYLOAD_BYTES = 16 * 1024 ** 2;

export interface ConnectionOptions {
  /** URL of the target: http(s)://host:port or ws(s)://host:port. */
  url: string;
  /** Path of Engine.IO in requests; default: `/socket.io/`. */
  path: string;
  /**
   * Allowed transports. A connection starts with the first one, and upgrades from polling to WebSocket if both are
   * listed.
   */
  transports: readonly Transport[];
  query: Record<string, string>;
  headers: Record<string, string>;
  /** Payload of the Socket.IO CONNECT packet. */
  auth: Record<string, unknown> | undefined;
  tls: TlsOptions;
  /** Whether to offer permessage-deflate compression to the server, as browsers do. Default: no. */
  compression?: boolean;
  /** Path of a module with a parser that replaces the default parser of Socket.IO. */
  parser?: string | undefined;
  /**
   * Arguments with which the client acknowledges events, if the server requests an acknowledgement. Undefined: the
   * client never acknowledges.
   */
  acknowledge?: unknown[] | undefined;
  /** Timeout from the TCP connect to the reply to the CONNECT packet. */
  connectTimeoutMs: number;
  /**
   * Maximum size of a received message in bytes. A larger message closes the connection, so that a server cannot fill
   * the generator's memory.
   */
  maxPayloadBytes?: number;
  /** Source address of the connection; by default, the kernel chooses it. */
  localAddress: string | undefined;
  /** IP address of the host, for the official client; by default, the host name is looked up. */
  address?: LookupAddress;
}

/** Rules for repeated connection attempts. The delay before an attempt doubles each time. */
export interface Backoff {
  attempts: number;
  delayMs: number;
  maxDelayMs: number;
  /** Random share of the delay, from 0 to 1. */
  jitter: number;
}

/** TLS options. Certificates and keys are PEM strings, not paths. */
export interface TlsOptions {
  rejectUnauthorized?: boolean;
  servername?: string;
  ca?: string;
  cert?: string;
  key?: string;
  /**
   * Whether connections resume the TLS session of an earlier connection, if the server allows it. Light client only.
   */
  resume?: boolean;
}

/**
 * Stages of a connect. `total` is the time from the first attempt to the reply to the CONNECT packet. `change` is not
 * part of it: it is the time from the Engine.IO handshake on polling until the transport is WebSocket.
 */
export type ConnectStage = 'total' | 'tcp' | 'tls' | 'upgrade' | 'open' | 'namespace' | 'change';
export const CONNECT_STAGES: ConnectStage[] = ['total', 'tcp', 'tls', 'upgrade', 'open', 'namespace', 'change'];
