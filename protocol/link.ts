/**
 * What the hook (Artillery's main thread) and the engines (one per Artillery worker thread) say to each other, over a
 * BroadcastChannel: plugins and engines have no other common ground during a run, also not on Ctrl-C.
 * Only sums travel: ledger rows and encoded histograms, never single messages.
 */
import type { ErrorCode } from './error-codes.ts';

/** Name of the channel; one per run, so that two runs in one process cannot hear each other. */
export function linkChannelName(testRunId: string): string {
  return `socketio-capacity:${testRunId}`;
}

/** Hook to all engines. */
export type HookMessage =
  /** The target is up and the baseline is taken: arrivals may begin. */
  | { type: 'start' }
  | { type: 'warm-up'; requestId: number; order: WarmUpOrder }
  | { type: 'snapshot'; requestId: number }
  | { type: 'freeze'; requestId: number; broadcasts: FreezeOrder[] }
  /** Held connections leave now, staggered. */
  | { type: 'release' }
  /** The residual is measured: held virtual users may call back. */
  | { type: 'finish' }
  /** The run is over (also after Ctrl-C): close everything and answer. */
  | { type: 'close'; requestId: number };

/** Engine to hook. `engineId` is the Artillery worker's id. */
export type EngineMessage =
  | { type: 'ready'; engineId: string }
  | { type: 'status'; engineId: string; status: FleetStatus }
  /** All short connections have left; `failure` is what the first that failed said. */
  | { type: 'warmed'; engineId: string; requestId: number; failure: string | undefined }
  | { type: 'snapshot'; engineId: string; requestId: number; snapshot: FleetSnapshot }
  | { type: 'frozen'; engineId: string; requestId: number; rows: FrozenBroadcast[] }
  | { type: 'closed'; engineId: string; requestId: number }
  | { type: 'failed'; engineId: string; code: ErrorCode; message: string; fix: string };

/** Short connections before the load, for each engine; no book knows them afterwards. */
export interface WarmUpOrder {
  connections: number;
  /** So many at a time. */
  together: number;
  room: string;
}

/** Counts of one engine's fleet, sent several times a second: for the live line and for knowing when things are quiet. */
export interface FleetStatus {
  /** Virtual users begun. */
  started: number;
  connecting: number;
  /** Connected now. */
  connected: number;
  /** Members of a room, acknowledged, now. */
  joined: number;
  /** Further connections of virtual users that hold many, which have neither opened nor failed. */
  toOpen: number;
  /** Virtual users parked in `hold`. */
  holding: number;
  failed: number;
  /** Broadcast receipts since the start. */
  received: number;
  /** Joins sent and not yet acknowledged. */
  joining: number;
}

/** Cumulative counters and histograms of one engine's fleet. */
export interface FleetSnapshot {
  processes: FleetProcessHealth[];
  /** Of the Artillery worker thread. */
  engineLoop: EventLoopHealth;
  /** Connection attempts, first ones and repeats. */
  attempts: number;
  opened: number;
  /** Connected now. */
  connected: number;
  /** Virtual users or connections given up, by cause. */
  failures: Record<string, number>;
  retries: number;
  reconnects: number;
  /** Connections that ended, by Socket.IO's reason. */
  disconnects: Record<string, number>;
  /** Connections now, by the worker named in the session id or the join's acknowledgement. */
  perWorker: Record<string, number>;
  /** HDR histograms in microseconds, compressed base64. */
  connectUs: Record<ConnectStage, string>;
  /** Connections opened per interval since `startUs` (CLOCK_MONOTONIC), the source of the achieved rate. */
  openings: { startUs: number; intervalUs: number; counts: number[] };
  receipts: { received: number; duplicates: number; late: number; early: number };
  /** Events received that no step waited for. */
  ignoredEvents: number;
  receivedBytes: number;
  sentBytes: number;
}

/** `total` is the whole way: from the first `connect()` (repeats included) to the Socket.IO CONNECT answer. */
export type ConnectStage = 'total' | 'tcp' | 'upgrade' | 'open' | 'namespace';
export const CONNECT_STAGES: ConnectStage[] = ['total', 'tcp', 'upgrade', 'open', 'namespace'];

/** Of the time since the previous snapshot. Delay is what a timer is late by. */
export interface EventLoopHealth {
  /** 0 to 1; at 1 the loop never waits, and everything it times includes its own queue. */
  utilization: number;
  delayP50Ms: number;
  delayP99Ms: number;
  delayMaxMs: number;
  /** Of the time that its thread wanted to run, the share in which it waited for a CPU; null where only Linux tells. */
  cpuWaitShare: number | null;
}

export interface FleetProcessHealth {
  pid: number;
  index: number;
  /** False once the process has died; its connections count as disconnected. */
  alive: boolean;
  connections: number;
  rssBytes: number;
  cpuUs: number;
  eventLoop: EventLoopHealth;
}

/** Close the books of one broadcast: who was to get it is decided by `sentAtUs`. Both times are on the generator's clock. */
export interface FreezeOrder {
  seq: number;
  room: string;
  sentAtUs: number;
  /** When it was to be sent. Latency counts from here, so that a late publisher cannot hide a queue. */
  intendedAtUs: number;
}

/** One fleet process's page of the ledger for one broadcast. `expected = received + lostConnected + lostDisconnected`. */
export interface FrozenBroadcast {
  seq: number;
  expected: number;
  received: number;
  lostConnected: number;
  lostDisconnected: number;
  /** Receipts beyond the first by the same connection. */
  duplicates: number;
  /** First receipts by a connection that had a later broadcast already. */
  reordered: number;
  /** Receipts by connections whose join was not acknowledged before the send. */
  unexpected: number;
  /** HDR histograms of receipt − intendedAtUs in microseconds, by where the receiver's worker stands to the publisher's. */
  latencyUs: { local: string; cross: string };
  firstUs: number;
  lastUs: number;
}
