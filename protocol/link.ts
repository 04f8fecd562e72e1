/**
 * The messages between a run and its engines (one per Artillery worker thread). Plugin and engines have no other
 * connection during a run, not even on Ctrl-C. Only sums are sent: ledger rows and encoded histograms, never single
 * messages. A `Carrier` transports them.
 */
import type { ErrorCode } from './codes/error-codes.ts';

/** Identifies the engine that reports, and its host. Processes of its fleet are numbered within it. */
export interface EngineIdentity {
  /** Same as `Host.kernel`. */
  host: string;
  /** Artillery's id of the worker. */
  engine: string;
}

/**
 * A point in time on the run's CLOCK_MONOTONIC, in microseconds. On the link, all of them have this type and the name
 * `atUs`, or one that ends in `AtUs`, so that a carrier between hosts can convert them. All other times are durations.
 */
type InstantUs = number;

/** Held connections can leave in so many parts, about equally large, one after the other. */
export const RELEASE_PARTS = 4;

/** Run to all engines. */
export type RunMessage =
  /** The target is up and the baseline is taken: arrivals may begin; on several hosts, all at that time. */
  | { type: 'start'; atUs?: InstantUs }
  | { type: 'warm-up'; requestId: number; order: WarmUpOrder }
  | { type: 'snapshot'; requestId: number }
  | { type: 'freeze'; requestId: number; broadcasts: FreezeOrder[] }
  /** What was seen of an own event so far; whether ids that appear from now on are counted; and which are none of the run's. */
  | { type: 'sight'; requestId: number; watch: boolean; outside: string[] }
  /** How the messages that connections send again and again go on; and how many there were. */
  | { type: 'messages'; requestId: number; stage: MessageStage }
  /** A planned fault begins, or its consequences are over. */
  | { type: 'fault'; requestId: number; order: FaultOrder }
  /** Held connections leave now, staggered: all, or those of the first parts. */
  | { type: 'release'; parts?: number }
  /** The residual is measured: held virtual users can end. */
  | { type: 'finish' }
  /** The run is over (also after Ctrl-C): close everything and reply. */
  | { type: 'close'; requestId: number };

/** Engine to run. */
export type EngineMessage = { from: EngineIdentity } & EngineReport;

export type EngineReport =
  /** `engines`: how many there will be on this host, of which this is one. */
  | { type: 'ready'; engines: number }
  /** Arrivals count from then on; on several hosts, that is when the run had them start. */
  | { type: 'began'; beganAtUs: InstantUs }
  | { type: 'status'; status: FleetStatus }
  /** All short connections have left; `failure` is the message of the first that failed. */
  | { type: 'warmed'; requestId: number; failure: string | undefined }
  | { type: 'snapshot'; requestId: number; snapshot: FleetSnapshot }
  | { type: 'frozen'; requestId: number; rows: FrozenBroadcast[] }
  | { type: 'sighted'; requestId: number; sightings: Sightings[] }
  | { type: 'messages'; requestId: number; counts: MessageCounts }
  | { type: 'faulted'; requestId: number }
  | { type: 'closed'; requestId: number }
  /** Its host is gone: nothing that it had not reported comes any more. */
  | { type: 'gone' }
  | { type: 'failed'; code: ErrorCode; message: string; fix: string };

/**
 * `measure`: those that are due from now on are of the measured window. `rest`: they are not, as before it. `stop`: none is
 * sent any more.
 */
export type MessageStage = 'measure' | 'rest' | 'stop';

/** Of the messages that connections send again and again, so far. */
export interface MessageCounts {
  sent: number;
  /** Sent on connections that are still open, and not acknowledged, although they ask for it. */
  unanswered: number;
}

/** Short connections before the load, for each engine; no later count includes them. */
export interface WarmUpOrder {
  connections: number;
  /** How many at the same time. */
  together: number;
  /** Undefined where the server need not know `join_room`. */
  room: string | undefined;
}

/** Counts of one engine's fleet, sent several times a second, for the live line and to detect the end of traffic. */
export interface FleetStatus {
  /** Virtual users that have started. */
  started: number;
  connecting: number;
  /** Currently connected. */
  connected: number;
  /** Current members of a room, as acknowledged. */
  joined: number;
  /** Further connections of multi-connection virtual users, which have neither opened nor failed yet. */
  toOpen: number;
  /** Virtual users parked in `hold`. */
  holding: number;
  failed: number;
  /** Broadcast receipts since the start, duplicates included. */
  received: number;
  /** Of these, the first copies of a broadcast at a connection. */
  reached: number;
  /** Joins sent and not yet acknowledged. */
  joining: number;
  /** Connected by polling, and about to change to WebSocket. */
  upgrading: number;
  /** Dropped, and about to come back. */
  away: number;
  /** How late a timer of the slowest event loop was at most, in the last second. No count: of several, the largest stands. */
  loopLateMs: number;
}

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

/** `begin`: what happens to the connections is counted from `atUs` on; with `drop`, all of them end now. `end`: until now. */
export type FaultOrder = { stage: 'begin'; atUs: InstantUs; drop: boolean } | { stage: 'end' };

/**
 * Of the connections that were open when a planned fault began. `connections = stayed + dropped`; `dropped = back + Σ notBack`.
 * Each sum is of counts that are kept separately, so that both can be checked.
 */
export interface FaultCounts {
  connections: number;
  stayed: number;
  /** At least once. */
  dropped: number;
  /** Dropped, and open at the end. */
  back: number;
  /** By cause. */
  notBack: Record<string, number>;
  /** Returns whose session the server restored. */
  recovered: number;
  /** HDR histogram of the time from `atUs` to the last return of each that is back, in microseconds, compressed base64. */
  backUs: string;
  /** Each time that one of them drops, tries to come back, and returns. */
  drops: TimeSeries;
  attempts: TimeSeries;
  returns: TimeSeries;
  /** Attempts that failed, by cause. */
  failedAttempts: Record<string, number>;
}

/** Events per interval. */
export interface TimeSeries {
  startedAtUs: InstantUs;
  intervalUs: number;
  counts: number[];
}

/** How connecting went, by intervals that start together. */
export interface ConnectingOverTime {
  /** First connections. */
  opened: TimeSeries;
  /** Sum of their connect times, and the longest. */
  connectUs: TimeSeries;
  slowestUs: TimeSeries;
  /** Attempts. */
  failed: TimeSeries;
  /** Connections, other than by their virtual users. */
  ended: TimeSeries;
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

/**
 * Messages that connections send again and again. `due = sent + Σ notSent`; `sent = unasked + acknowledged + unanswered + lost`.
 * Each sum is of counts that are kept separately, so that both can be checked.
 */
export interface MessageTotals {
  /** Connections that have begun, once for each message that they send. */
  connections: number;
  /** As the schedule has it, from each connection's begin to its end. */
  due: number;
  sent: number;
  /** By cause. */
  notSent: Record<MessageLoss, number>;
  /** Sent without asking for an acknowledgement. */
  unasked: number;
  acknowledged: number;
  /** Not acknowledged, although the connection is open. */
  unanswered: number;
  /** Not acknowledged when the connection ended. */
  lost: number;
  /** Those that were due in the measured window, and the others. */
  measured: MessageTimes;
  outside: MessageTimes;
}

/** `missed`: the process was behind by a whole period, and the next one was due. `disconnected`: there was no connection. */
export type MessageLoss = 'missed' | 'disconnected';

export interface MessageTimes {
  sent: number;
  acknowledged: number;
  /** HDR histograms in microseconds, compressed base64, from the intended send: to the acknowledgement, and to the send. */
  ackUs: string;
  sendDelayUs: string;
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

/** Of the time since the previous snapshot. Delay is how late timers fire. */
export interface EventLoopHealth {
  /** 0 to 1; at 1 the loop never waits, and everything it times includes its own queue. */
  utilization: number;
  delayP50Ms: number;
  delayP99Ms: number;
  delayMaxMs: number;
  /** Of the time that its thread was runnable, the share in which it waited for a CPU; null except on Linux. */
  cpuWaitShare: number | null;
}

export interface FleetProcessHealth {
  pid: number;
  /** Number of the process within its engine's fleet. */
  index: number;
  /** False once the process has died; its connections count as disconnected. */
  alive: boolean;
  /** False if it did not answer this time: it has died or stalled, and its figures are from earlier. */
  answers: boolean;
  connections: number;
  rssBytes: number;
  cpuUs: number;
  eventLoop: EventLoopHealth;
}

/** Request to finalize the ledger of one broadcast: `sentAtUs` determines who was to receive it. */
export interface FreezeOrder {
  seq: number;
  room: string;
  sentAtUs: InstantUs;
  /** When it should have been sent. Latency counts from here, so that a late publisher cannot hide a queue. */
  intendedAtUs: InstantUs;
  /** Of an own event: the broadcast's id, as `seq` is only the run's. */
  id?: string;
  /** In place of `intendedAtUs` and `sentAtUs`: latency counts from here; null if nobody knows from when. */
  latencyFromAtUs?: InstantUs | null;
}

/** In place of a room: the receivers of an own event. */
export const AUDIENCE = '';

/** A broadcast of an own event, as one fleet process has seen it. */
export interface Sighting {
  id: string;
  firstAtUs: InstantUs;
  /** As the server writes it: an instant of unknown unit. */
  sentAt: string | number | undefined;
  /** Of the JSON of the first copy. */
  bytes: number;
  /** First copies so far. */
  reached: number;
  /** Copies so far, also of those that are in no row. */
  copies: number;
  /** Whether its copies are in a row. */
  counted: boolean;
}

/** What one fleet process has seen of an own event. */
export interface Sightings {
  /** Of broadcasts that are not finalized. */
  ids: Sighting[];
  /** Share of the room for their rows that is taken, 0 to 1. */
  filled: number;
  /** Copies in which no id was found. */
  unmatched: number;
  /** The first of these. */
  example: string | undefined;
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
  /** Of the expected: members whose copy an absence kept away, and whose session the server restored. */
  missed: number;
  /** Of these, how many got it when they came back; part of `received`. */
  resent: number;
  /** Checksum of which connections of this process received it: two broadcasts with the same one went to the same. */
  receivers: number;
  /**
   * HDR histograms of receipt − intendedAtUs in microseconds, by where the receiver's worker stands to the publisher's.
   */
  latencyUs: { local: string; cross: string };
  /** Latency of the first and of the last receiver. */
  firstUs: number;
  lastUs: number;
  /** Of a host that is gone: `expected` is the most that it can have been. */
  assumed?: true;
  /** Nobody knows when it was sent: there are no latencies. */
  untimed?: true;
  /** Nobody knows the worker of some receivers, or of the publisher: `local` and `cross` are right only together. */
  unplaced?: true;
}
