/**
 * Snapshot of an engine's generator processes: counters and histograms since the start, and the state of the processes.
 * Shorter status messages are sent between snapshots.
 */
import { z } from 'zod';
import { CONNECT_STAGES, type ConnectStage } from '../wire/connection.ts';
import { byName, count, counts, each, index, list, sentence } from './bounded-schemas.ts';
import { messageTotalsSchema } from './client-messages.ts';
import { endKindSchema } from './ends.ts';
import { faultCountsSchema } from './fault-messages.ts';
import { histogram } from './histogram-schema.ts';
import { receiptTotalsSchema } from './ledger-messages.ts';
import { connectingOverTimeSchema, timeSeriesSchema } from './time-series.ts';

/** State of an event loop since the previous snapshot. The delay is that of timers. */
const eventLoopHealthSchema = z.object({
  /** Utilization from 0 to 1. At 1, the loop is always busy, and measured times include the time in its queue. */
  utilization: count,
  delayP50Ms: count,
  delayP99Ms: count,
  delayMaxMs: count,
  /** Share of its runnable time that the thread waited for a CPU. Null on other systems than Linux. */
  cpuWaitShare: count.nullable(),
});
export type EventLoopHealth = z.infer<typeof eventLoopHealthSchema>;

const fleetProcessHealthSchema = z.object({
  pid: z.int().positive(),
  /** Number of the generator process within its engine. */
  index,
  /** False after the process has died. Its connections then count as disconnected. */
  alive: z.boolean(),
  /**
   * False if the process did not reply to the last request, because it has died or stalled. Its figures are then
   * outdated.
   */
  answers: z.boolean(),
  connections: count,
  eventLoop: eventLoopHealthSchema,
});

/** Counts of all requested connections: asked = pending + Σ failed + alive + Σ ended. */
const connectionAccountsSchema = z.object({
  asked: count,
  pending: count,
  alive: count,
  /** Peak of concurrent connections. Over several engines, it is the sum of their peaks. */
  peak: count,
  /** Connections that never opened, by cause. */
  failed: counts,
  /**
   * Connections that opened and closed, by Socket.IO's reason. The reason `io client disconnect` is a disconnect by the
   * generator.
   */
  ended: counts,
  /** Number of drops after which the client reconnected. */
  returned: count,
});

/**
 * Drops of connections that reconnect by themselves: dropped = returned + gaveUp + left + away. A connection that drops
 * twice counts twice.
 */
const returnCountsSchema = z.object({
  dropped: count,
  returned: count,
  /** Reconnected with a restored session. */
  recovered: count,
  /** Connections that did not reconnect after the last attempt. */
  gaveUp: count,
  /** Connections that their virtual users closed while they were disconnected. */
  left: count,
  /** Connections that are disconnected now. */
  away: count,
  /** Number of reconnect attempts beyond the first attempt of each drop. */
  retries: count,
  /** HDR histogram, compressed base64: microseconds from drop to reconnect. */
  awayUs: histogram,
});
export type ReturnCounts = z.infer<typeof returnCountsSchema>;

/**
 * Opened connections by transport. Each connection counts once. `upgraded` connections started with polling and changed
 * to WebSocket.
 */
const transportCountsSchema = z.object({
  websocket: count,
  upgraded: count,
  polling: count,
});
export type TransportCounts = z.infer<typeof transportCountsSchema>;

/** Counters and histograms of an engine's generator processes since the start. */
export const fleetSnapshotSchema = z.object({
  processes: list(fleetProcessHealthSchema),
  accounts: connectionAccountsSchema,
  /** Whether no connection opened or closed while the processes replied. Their counts are then consistent. */
  still: z.boolean(),
  /** Event loop of the Artillery worker thread. */
  engineLoop: eventLoopHealthSchema,
  connected: count,
  /** Virtual users that failed, by cause. Lost connections are not included. */
  failures: counts,
  /** Printable error text of the first failure for each cause. */
  failureExamples: byName(sentence),
  /** Virtual users of other engines in the same run. Failures are counted by error. */
  otherUsers: z.object({ started: count, ended: count, failures: counts }),
  /** HTTP requests: requests = Σ responses (by status) + Σ failures (by error) + pending. */
  http: z.object({ requests: count, pending: count, responses: counts, failures: counts }),
  /**
   * Counts of functions: received events, failed calls, events dropped because functions were too slow, and counters of
   * the functions.
   */
  functions: z.object({ received: count, failures: counts, dropped: count, counters: counts }),
  /** Events that a generator process dropped because functions were too slow. */
  eventsDropped: count,
  /** Repeated connection attempts, for the first connection and for reconnects. */
  retries: count,
  /** Closed connections, by Socket.IO's reason. */
  disconnects: counts,
  /**
   * Connections that closed although their virtual user had not closed them, by kind. Includes connections that
   * reconnected.
   */
  ends: list(endKindSchema),
  returns: returnCountsSchema,
  /** All opened connections, by their last transport. */
  transports: transportCountsSchema,
  /** Connections for which the server accepted compression. */
  compressed: count,
  /** Connections that stayed on polling although WebSocket is allowed, by cause. */
  upgradeFailures: counts,
  /** Open connections by worker, from the acknowledgement of the join. */
  perWorker: counts,
  /**
   * Open connections whose worker is unknown, by the first part of the session id. Only bundled servers put the
   * worker's name there.
   */
  perSessionPrefix: counts,
  /** HDR histograms in microseconds, as compressed base64. */
  connectUs: each<ConnectStage, typeof histogram>(CONNECT_STAGES, histogram),
  /** Connections whose TLS handshake resumed an earlier session. */
  tlsResumed: count,
  /** Connections opened in each interval since the start. The achieved rate is computed from them. */
  openings: timeSeriesSchema,
  connecting: connectingOverTimeSchema,
  /** Counts of a planned fault, after it has begun. */
  fault: faultCountsSchema.optional(),
  receipts: receiptTotalsSchema,
  messages: messageTotalsSchema,
  /** Closed connections, and the sum of the times for which they were open, in ms. */
  ended: z.object({ connections: count, openMs: count }),
  /** Acknowledgements that match no message, or that were repeated. */
  unknownAcks: count,
  acks: count,
  /**
   * Acknowledgements that contain an error object, by its text. After a limit, further texts are counted under the
   * empty text.
   */
  ackErrors: counts,
});
export type FleetSnapshot = z.infer<typeof fleetSnapshotSchema>;

/**
 * Current counts of an engine's generator processes. They are sent several times a second, for the live line and to
 * detect the end of traffic.
 */
export const fleetStatusSchema = z.object({
  /** Virtual users that have started. */
  started: count,
  /** Started virtual users of other engines. */
  others: count,
  connecting: count,
  connected: count,
  /** Connections whose join was acknowledged. */
  joined: count,
  /** Virtual users in the step `hold`. */
  holding: count,
  failed: count,
  /** Opened connections so far, including reconnects. */
  opened: count,
  /** Failed connection attempts so far. */
  failedAttempts: count,
  /** Virtual users that failed, by cause. Lost connections are not included. */
  failures: counts,
  /** Connections that either side has closed, by reason. */
  ended: counts,
  /** Received copies since the start, including duplicates. */
  received: count,
  /** Received copies without duplicates, a part of `received`. */
  reached: count,
  /** Joins without an acknowledgement so far. */
  joining: count,
  /** Connections on polling that are upgrading to WebSocket. */
  upgrading: count,
  /** Dropped connections that are reconnecting. */
  away: count,
  /** Maximum timer delay of the slowest event loop in the last second. Combined by maximum, not by sum. */
  loopLateMs: count,
});
export type FleetStatus = z.infer<typeof fleetStatusSchema>;
