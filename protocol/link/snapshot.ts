/**
 * Snapshot of an engine's fleet processes: counters and histograms since the start, and the state of the processes.
 * Shorter status messages are sent between snapshots.
 */
import { z } from 'zod';
import { CONNECT_STAGES, type ConnectStage } from '../wire/connection.ts';
import {
  boundedCount,
  boundedCounts,
  boundedIndex,
  boundedList,
  boundedRecord,
  boundedText,
  objectWithKeys,
} from './bounded-schemas.ts';
import { messageTotalsSchema } from './client-messages.ts';
import { closeKindSchema } from './close-kinds.ts';
import { faultCountsSchema } from './fault-messages.ts';
import { histogramSchema } from './histogram-schema.ts';
import { receiptTotalsSchema } from './ledger-messages.ts';
import { connectingOverTimeSchema, timeSeriesSchema } from './time-series.ts';

/** State of an event loop since the previous snapshot. The delay is the delay of timers. */
const eventLoopHealthSchema = z.object({
  /**
   * Utilization of the event loop from 0 to 1. At 1, the loop is always busy, and measured times include the time in
   * its queue.
   */
  utilization: boundedCount,
  delayP50Ms: boundedCount,
  delayP99Ms: boundedCount,
  delayMaxMs: boundedCount,
  /** Share of its runnable time for which the thread waited for a CPU. Null on systems other than Linux. */
  cpuWaitShare: boundedCount.nullable(),
});
export type EventLoopHealth = z.infer<typeof eventLoopHealthSchema>;

const fleetProcessHealthSchema = z.object({
  pid: z.int().positive(),
  /** Number of the fleet process within its engine. */
  index: boundedIndex,
  /** False after the process has died. Its connections then count as disconnected. */
  alive: z.boolean(),
  /**
   * False if the process did not reply to the last request, because it has died or is stalled. Its figures are then
   * outdated.
   */
  answers: z.boolean(),
  connections: boundedCount,
  eventLoop: eventLoopHealthSchema,
});

/** Counts of all requested connections: asked = pending + Σ failed + alive + Σ ended. */
const connectionAccountsSchema = z.object({
  asked: boundedCount,
  pending: boundedCount,
  alive: boundedCount,
  /** Peak of concurrent connections. Over several engines, it is the sum of their peaks. */
  peak: boundedCount,
  /** Number of connections that never opened, by cause. */
  failed: boundedCounts,
  /**
   * Connections that opened and closed, by Socket.IO's reason. The reason `io client disconnect` is a disconnect by the
   * generator.
   */
  ended: boundedCounts,
  /** Number of drops after which the client reconnected. */
  returned: boundedCount,
});

/**
 * Counts of drops, for connections that reconnect by themselves: dropped = returned + gaveUp + left + away. A
 * connection that drops twice counts twice.
 */
const returnCountsSchema = z.object({
  dropped: boundedCount,
  returned: boundedCount,
  /** Number of reconnects that restored the session. */
  recovered: boundedCount,
  /** Connections that did not reconnect after the last attempt. */
  gaveUp: boundedCount,
  /** Connections whose virtual user closed them while they were disconnected. */
  left: boundedCount,
  /** Number of connections that are disconnected now and may reconnect. */
  away: boundedCount,
  /** Number of reconnect attempts beyond the first attempt of each drop. */
  retries: boundedCount,
  /** HDR histogram, compressed base64: microseconds from drop to reconnect. */
  awayUs: histogramSchema,
});
export type ReconnectCounts = z.infer<typeof returnCountsSchema>;

/**
 * Number of opened connections by transport. Each connection counts once. `upgraded` connections started with polling
 * and changed to WebSocket.
 */
const transportCountsSchema = z.object({
  websocket: boundedCount,
  upgraded: boundedCount,
  polling: boundedCount,
});
export type TransportCounts = z.infer<typeof transportCountsSchema>;

/** Counters and histograms of an engine's fleet processes since the start. */
export const fleetSnapshotSchema = z.object({
  processes: boundedList(fleetProcessHealthSchema),
  accounts: connectionAccountsSchema,
  /**
   * Whether no connection opened or closed while the processes replied. Only then do the counts of all processes agree
   * in time.
   */
  still: z.boolean(),
  /** State of the event loop of the Artillery worker thread. */
  engineLoop: eventLoopHealthSchema,
  connected: boundedCount,
  /** Number of virtual users that failed, by cause. Lost connections are not included. */
  failures: boundedCounts,
  /** Printable error text of the first failure for each cause. */
  failureExamples: boundedRecord(boundedText),
  /** Virtual users of other engines in the same run. Their failures are counted by error. */
  otherUsers: z.object({ started: boundedCount, ended: boundedCount, failures: boundedCounts }),
  /** Number of HTTP requests: requests = Σ responses (by status) + Σ failures (by error) + pending. */
  http: z.object({ requests: boundedCount, pending: boundedCount, responses: boundedCounts, failures: boundedCounts }),
  /**
   * Counts of the user's custom functions: received events, failed calls, events dropped because functions were too
   * slow, and counters that the functions increased.
   */
  functions: z.object({
    received: boundedCount,
    failures: boundedCounts,
    dropped: boundedCount,
    counters: boundedCounts,
  }),
  /** Number of events that a fleet process dropped because custom functions were too slow. */
  eventsDropped: boundedCount,
  /** Number of repeated connection attempts, both for first connections and for reconnects. */
  retries: boundedCount,
  /** Number of closed connections, by Socket.IO's disconnect reason. */
  disconnects: boundedCounts,
  /**
   * Connections that closed although their virtual user had not closed them, by kind. Includes connections that
   * reconnected.
   */
  ends: boundedList(closeKindSchema),
  returns: returnCountsSchema,
  /** All opened connections, by the transport that they used last. */
  transports: transportCountsSchema,
  /** Number of connections for which the server accepted compression. */
  compressed: boundedCount,
  /** Connections that stayed on polling although WebSocket is allowed, by cause. */
  upgradeFailures: boundedCounts,
  /** Open connections by worker, from the acknowledgement of the join. */
  perWorker: boundedCounts,
  /**
   * Open connections whose worker is unknown, by the first part of the session id. Only bundled servers put the
   * worker's name there.
   */
  perSessionPrefix: boundedCounts,
  /** Times of connects by stage, in microseconds. HDR histograms as compressed base64. */
  connectUs: objectWithKeys<ConnectStage, typeof histogramSchema>(CONNECT_STAGES, histogramSchema),
  /** Number of connections whose TLS handshake resumed an earlier session. */
  tlsResumed: boundedCount,
  /** Number of connections opened in each interval since the start. The connect rate of the run is computed from it. */
  openings: timeSeriesSchema,
  connecting: connectingOverTimeSchema,
  /** Counts for a planned fault, after the fault has begun. */
  fault: faultCountsSchema.optional(),
  receipts: receiptTotalsSchema,
  messages: messageTotalsSchema,
  /** Number of closed connections, and the sum of the times for which they were open, in ms. */
  ended: z.object({ connections: boundedCount, openMs: boundedCount }),
  /** Acknowledgements that match no message, or that were repeated. */
  unknownAcks: boundedCount,
  acks: boundedCount,
  /**
   * Number of acknowledgements that contain an error object, by the text of the error. After a limit, further texts are
   * counted under the empty text.
   */
  ackErrors: boundedCounts,
});
export type FleetSnapshot = z.infer<typeof fleetSnapshotSchema>;

/**
 * Current counts of an engine's fleet processes. The engine sends them several times a second, for the live line
 * and to detect the end of traffic.
 */
export const fleetStatusSchema = z.object({
  /** Number of virtual users that have started. */
  started: boundedCount,
  /** Number of virtual users of other engines that have started. */
  others: boundedCount,
  connecting: boundedCount,
  connected: boundedCount,
  /** Number of connections whose join was acknowledged. */
  joined: boundedCount,
  /** Number of virtual users in the step `hold`. */
  holding: boundedCount,
  failed: boundedCount,
  /** Number of connections opened so far, including reconnects. */
  opened: boundedCount,
  /** Number of connection attempts that have failed so far. */
  failedAttempts: boundedCount,
  /** Number of virtual users that failed, by cause. Lost connections are not included. */
  failures: boundedCounts,
  /** Number of connections that either side has closed, by reason. */
  ended: boundedCounts,
  /** Number of copies received since the start, including duplicates. */
  received: boundedCount,
  /** Number of copies received since the start, without duplicates. */
  reached: boundedCount,
  /** Number of joins that are not acknowledged yet. */
  joining: boundedCount,
  /** Number of connections on polling that are upgrading to WebSocket. */
  upgrading: boundedCount,
  /** Number of dropped connections that are reconnecting. */
  away: boundedCount,
  /**
   * Maximum timer delay of the slowest event loop in the last second. Engines are combined by the maximum, not by the
   * sum.
   */
  loopLateMs: boundedCount,
});
export type FleetStatus = z.infer<typeof fleetStatusSchema>;
