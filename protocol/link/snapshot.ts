/** What an engine tells of its whole fleet: cumulative counters and histograms. */
import type { MessageTotals } from './client-messages.ts';
import type { FaultCounts } from './fault.ts';
import type { EventLoopHealth, FleetProcessHealth } from './health.ts';
import type { ReceiptTotals } from './ledger.ts';
import type { ConnectingOverTime, TimeSeries } from './series.ts';

/** What became of all requested connections: asked = pending + Σ failed + alive + Σ ended. */
export interface ConnectionAccounts {
  asked: number;
  pending: number;
  alive: number;
  /** Never opened, by cause. */
  failed: Record<string, number>;
  /** Opened and not alive any more, by Socket.IO's reason; `io client disconnect` is our own disconnect. */
  ended: Record<string, number>;
  /** Ends of connections that came back: the number of times. */
  returned: number;
}

/**
 * Of connections that drop and are to come back: dropped = returned + gaveUp + left + away. A connection counts as often as
 * it drops.
 */
export interface ReturnCounts {
  dropped: number;
  returned: number;
  /** Of these, those whose session the server restored. */
  recovered: number;
  /** After the last attempt. */
  gaveUp: number;
  /** Closed by their virtual users meanwhile. */
  left: number;
  /** Now. */
  away: number;
  /** Attempts after the first one of an absence. */
  retries: number;
  /** HDR histogram of the time from the drop to the return, in microseconds, compressed base64. */
  awayUs: string;
}

/** Cumulative counters and histograms of one engine's fleet. */
export interface FleetSnapshot {
  processes: FleetProcessHealth[];
  accounts: ConnectionAccounts;
  /** Of the Artillery worker thread. */
  engineLoop: EventLoopHealth;
  /** Connection attempts, first ones and repeats. */
  attempts: number;
  opened: number;
  /** Currently connected. */
  connected: number;
  /** Virtual users or connections that failed for good, by cause. */
  failures: Record<string, number>;
  /** What was said at the first of them, by cause; printable. */
  failureExamples: Record<string, string>;
  /** Of first connections, and of those that come back. */
  retries: number;
  /** Connections that ended, by Socket.IO's reason. */
  disconnects: Record<string, number>;
  returns: ReturnCounts;
  /** Every connection that has opened, by its transport now or at its end. */
  transports: TransportCounts;
  /** Of these, those whose WebSocket the server has granted compression. */
  compressed: number;
  /** Connections that stayed on polling, although the server offers WebSocket, by cause. */
  upgradeFailures: Record<string, number>;
  /** Connections now, by the worker that the join's acknowledgement named. */
  perWorker: Record<string, number>;
  /** Connections now that no join named, by the first part of the session id: a worker's name on our own servers only. */
  perSessionPrefix: Record<string, number>;
  /** HDR histograms in microseconds, compressed base64. */
  connectUs: Record<ConnectStage, string>;
  /** Of the connections that opened, those whose TLS handshake resumed an earlier session. */
  tlsResumed: number;
  /** Connections opened per interval since the start, the source of the achieved rate. */
  openings: TimeSeries;
  connecting: ConnectingOverTime;
  /** Once a planned fault has begun. */
  fault?: FaultCounts;
  receipts: ReceiptTotals;
  /** Events received that no step waited for. */
  messages: MessageTotals;
  ignoredEvents: number;
  /** Acknowledgements of nothing that was sent, and repeated ones. */
  unknownAcks: number;
  receivedBytes: number;
  sentBytes: number;
}

/**
 * `total` is from the first `connect()` (repeats included) to the reply to Socket.IO's CONNECT. `change` is no part of it: of
 * a connection that begins with polling, from the Engine.IO handshake until WebSocket is its transport.
 */
export type ConnectStage = 'total' | 'tcp' | 'tls' | 'upgrade' | 'open' | 'namespace' | 'change';
export const CONNECT_STAGES: ConnectStage[] = ['total', 'tcp', 'tls', 'upgrade', 'open', 'namespace', 'change'];

/** Every connection that has opened is in exactly one: `upgraded` began with polling and is WebSocket now. */
export interface TransportCounts {
  websocket: number;
  upgraded: number;
  polling: number;
}
