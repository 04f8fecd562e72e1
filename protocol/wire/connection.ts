/** How to connect to the target: the engine passes it to its fleet, the run to its own receivers. */
import type { LookupAddress } from 'node:dns';

/** Socket.IO's reason of an end that the client itself brought about. */
export const OWN_DISCONNECT = 'io client disconnect';

/** `light` needs a few KB per connection; `official` is socket.io-client. */
export type ClientKind = 'light' | 'official';

export type Transport = 'websocket' | 'polling';

/** Names of the usual choices, as in the environment variable TRANSPORTS; `default` is that of socket.io-client. */
export const TRANSPORTS = {
  default: ['polling', 'websocket'],
  websocket: ['websocket'],
  polling: ['polling'],
} as const satisfies Record<string, readonly Transport[]>;

export type TransportsName = keyof typeof TRANSPORTS;

/** TCP connections that each holds as long as it lives: polling keeps one for requests beside the one that waits. */
export const SOCKETS_PER_CONNECTION: Record<TransportsName, number> = { default: 1, websocket: 1, polling: 2 };

/**
 * TCP connections that the light client itself ends for each connection when that opens and when it leaves, so that their
 * ports stay taken in TIME_WAIT: an upgrade leaves those for polling. Whatever a server ends, such as a WebSocket after
 * the handshake to close it, or all with the official client, waits on the server's side.
 */
export const SOCKETS_LEFT_BEHIND: Record<TransportsName, { opening: number; leaving: number }> = {
  default: { opening: 2, leaving: 0 },
  websocket: { opening: 0, leaving: 0 },
  polling: { opening: 0, leaving: 2 },
};

/** What connections with these transports do: without polling in front, nothing is ever upgraded. */
export function transportsName(transports: readonly Transport[]): TransportsName {
  if (transports[0] === 'websocket') return 'websocket';
  return transports.includes('websocket') ? 'default' : 'polling';
}

/** Far more than a broadcast has, and little enough that a process can hold one for each of some connections. */
export const MAX_PAYLOAD_BYTES = 16 * 1024 ** 2;

export interface ConnectionOptions {
  /** http(s)://host:port or ws(s)://host:port. */
  url: string;
  /** Engine.IO path, default `/socket.io/`. */
  path: string;
  /** A connection begins with the first; from polling, it changes to WebSocket if that is among them. */
  transports: readonly Transport[];
  query: Record<string, string>;
  headers: Record<string, string>;
  /** Socket.IO CONNECT payload. */
  auth: Record<string, unknown> | undefined;
  tls: TlsOptions;
  /** Offers permessage-deflate to the server, as browsers do, and takes what it grants; by default it is not offered. */
  compression?: boolean;
  /** File of a module that encodes packets otherwise than Socket.IO does by default. */
  parser?: string | undefined;
  /** Arguments of the answer to an event for which the server asks for an acknowledgement; undefined gives none. */
  acknowledge?: unknown[] | undefined;
  /** From the TCP connect to the reply to Socket.IO's CONNECT. */
  connectTimeoutMs: number;
  /** A larger message ends the connection, so that a server cannot fill the generator's memory. */
  maxPayloadBytes?: number;
  /** Source address; by default the kernel chooses. */
  localAddress: string | undefined;
  /** One address of the name, for the official client; by default the name's lookup chooses. */
  address?: LookupAddress;
}

/** How attempts are repeated: with a delay that doubles each time. */
export interface Backoff {
  attempts: number;
  delayMs: number;
  maxDelayMs: number;
  /** Share of the delay, 0 to 1, that is random. */
  jitter: number;
}

/** PEM strings, not paths. */
export interface TlsOptions {
  rejectUnauthorized?: boolean;
  servername?: string;
  ca?: string;
  cert?: string;
  key?: string;
  /** Each connection resumes the session that an earlier one got, if the server allows it. Light client only. */
  resume?: boolean;
}

/**
 * `total` is from the first `connect()` (repeats included) to the reply to Socket.IO's CONNECT. `change` is no part of it: of
 * a connection that begins with polling, from the Engine.IO handshake until WebSocket is its transport.
 */
export type ConnectStage = 'total' | 'tcp' | 'tls' | 'upgrade' | 'open' | 'namespace' | 'change';
export const CONNECT_STAGES: ConnectStage[] = ['total', 'tcp', 'tls', 'upgrade', 'open', 'namespace', 'change'];
