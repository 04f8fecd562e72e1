/**
 * What a run and its engines (one per Artillery worker thread) report to each other. Plugins and engines have no other
 * common ground during a run, also not on Ctrl-C. Only sums travel: ledger rows and encoded histograms, never single
 * messages. What carries them is a `Carrier`.
 */
import type { ErrorCode } from './error-codes.ts';

/** Who reports: which engine, on which host. A process of an engine's fleet is known by its number beside it. */
export interface EngineIdentity {
  /** As `Host.kernel`. */
  host: string;
  /** Artillery's id of the worker. */
  engine: string;
}

/**
 * A point of time on the run's CLOCK_MONOTONIC, in microseconds. Whatever crosses the link and is one has this type and a
 * name that ends in `AtUs`, so that a border between two hosts can convert it; all other times are lengths.
 */
export type InstantUs = number;

/** Run to all engines. */
export type RunMessage =
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

/** Engine to run. */
export type EngineMessage = { from: EngineIdentity } & EngineReport;

export type EngineReport =
  | { type: 'ready' }
  | { type: 'status'; status: FleetStatus }
  /** All short connections have left; `failure` is the message of the first that failed. */
  | { type: 'warmed'; requestId: number; failure: string | undefined }
  | { type: 'snapshot'; requestId: number; snapshot: FleetSnapshot }
  | { type: 'frozen'; requestId: number; rows: FrozenBroadcast[] }
  | { type: 'closed'; requestId: number }
  | { type: 'failed'; code: ErrorCode; message: string; fix: string };

/** Short connections before the load, for each engine; they are in no count afterwards. */
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

/** What became of all connections that were asked for: asked = pending + Σ failed + alive + Σ ended. */
export interface ConnectionAccounts {
  asked: number;
  pending: number;
  alive: number;
  /** Never opened, by cause. */
  failed: Record<string, number>;
  /** Opened and not alive any more, by Socket.IO's reason; `io client disconnect` is our own doing. */
  ended: Record<string, number>;
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
  /** Connections opened per interval since the start, the source of the achieved rate. */
  openings: { startedAtUs: InstantUs; intervalUs: number; counts: number[] };
  receipts: ReceiptTotals;
  /** Events received that no step waited for. */
  ignoredEvents: number;
  receivedBytes: number;
  sentBytes: number;
}

/** Frames that carry the broadcast event, of the whole run. The columns of single broadcasts are in `FrozenBroadcast`. */
export interface ReceiptTotals {
  /** All whose payload can be read: of every column but `unreadable`. */
  received: number;
  duplicates: number;
  /** After the broadcast's row was finalized. */
  late: number;
  unreadable: number;
  /** With a number that the run never sends. */
  neverOrdered: number;
  /** Of broadcasts whose rows are not finalized: once the run has finalized its own, nobody ordered these. */
  open: number;
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
  /** Number of the process within its engine's fleet. */
  index: number;
  /** False once the process has died; its connections count as disconnected. */
  alive: boolean;
  /** False where it did not answer this time: it has died or stands still, and its figures are older ones. */
  answers: boolean;
  connections: number;
  rssBytes: number;
  cpuUs: number;
  eventLoop: EventLoopHealth;
}

/** Finalize the ledger of one broadcast: who was to get it is decided by `sentAtUs`. */
export interface FreezeOrder {
  seq: number;
  room: string;
  sentAtUs: InstantUs;
  /** When it was to be sent. Latency counts from here, so that a late publisher cannot hide a queue. */
  intendedAtUs: InstantUs;
}

/** One fleet process's ledger row for one broadcast. `expected = received + lostConnected + lostDisconnected`. */
export interface FrozenBroadcast {
  /** Number of the process within its engine's fleet. */
  process: number;
  seq: number;
  expected: number;
  received: number;
  lostConnected: number;
  lostDisconnected: number;
  /** Receipts beyond the first by the same connection. */
  duplicates: number;
  /** First receipts by a connection that had a later broadcast already. */
  reordered: number;
  /** Receipts by connections whose join was under way at the send. */
  unexpected: number;
  /** First receipts by connections that never asked to join the room. */
  notMember: number;
  /** Copies whose payload has another length than the configured one; they are no receipts. */
  wrongSize: number;
  /** Likewise, whose payload has other characters, among those that were compared. */
  wrongContent: number;
  /** First receipts before `sentAtUs`; part of `received`, `unexpected` and `notMember`. */
  early: number;
  /** By how much the earliest of these came before the send; 0 without any. */
  earlyByUs: number;
  /** HDR histograms of receipt − intendedAtUs in microseconds, by where the receiver's worker stands to the publisher's. */
  latencyUs: { local: string; cross: string };
  /** Latency of the first and of the last receiver. */
  firstUs: number;
  lastUs: number;
}
