/** Snapshot of an engine's whole fleet: cumulative counters and histograms, the health of its processes, and its status between snapshots. */
import { z } from 'zod';
import { CONNECT_STAGES, type ConnectStage } from '../wire/connection.ts';
import { byName, count, counts, each, index, list, sentence } from './bounded-schemas.ts';
import { messageTotalsSchema } from './client-messages.ts';
import { endKindSchema } from './ends.ts';
import { faultCountsSchema } from './fault-messages.ts';
import { histogram } from './histogram-schema.ts';
import { receiptTotalsSchema } from './ledger-messages.ts';
import { connectingOverTimeSchema, timeSeriesSchema } from './time-series.ts';

/** Event loop since the previous snapshot. The delay is the lateness of timers. */
const eventLoopHealthSchema = z.object({
  /** 0 to 1; at 1, the loop is always busy, and its measured times include its own queue. */
  utilization: count,
  delayP50Ms: count,
  delayP99Ms: count,
  delayMaxMs: count,
  /** Share of the thread's runnable time in which it waited for a CPU; null except on Linux. */
  cpuWaitShare: count.nullable(),
});
export type EventLoopHealth = z.infer<typeof eventLoopHealthSchema>;

const fleetProcessHealthSchema = z.object({
  pid: z.int().positive(),
  /** Number of the process within its engine's fleet. */
  index,
  /** False once the process has died; its connections count as disconnected. */
  alive: z.boolean(),
  /** False if it did not answer this time, because it has died or stalled; its figures are then outdated. */
  answers: z.boolean(),
  connections: count,
  eventLoop: eventLoopHealthSchema,
});

/** Account of all requested connections: asked = pending + Σ failed + alive + Σ ended. */
const connectionAccountsSchema = z.object({
  asked: count,
  pending: count,
  alive: count,
  /** Peak of concurrent connections; of several engines, the sum of their peaks. */
  peak: count,
  /** Never opened, by cause. */
  failed: counts,
  /** Opened and closed again, by Socket.IO's reason; `io client disconnect` is our own disconnect. */
  ended: counts,
  /** Number of drops after which the connection was reestablished. */
  returned: count,
});

/** Drops of connections that should reconnect: dropped = returned + gaveUp + left + away. A connection that drops twice counts twice. */
const returnCountsSchema = z.object({
  dropped: count,
  returned: count,
  /** Reconnected with a restored session. */
  recovered: count,
  /** Given up after the last attempt. */
  gaveUp: count,
  /** Closed by their virtual users while disconnected. */
  left: count,
  /** Disconnected at present. */
  away: count,
  /** Attempts after the first one of each drop. */
  retries: count,
  /** HDR histogram of the time from drop to reconnect, in microseconds, compressed base64. */
  awayUs: histogram,
});
export type ReturnCounts = z.infer<typeof returnCountsSchema>;

/** Each opened connection is in exactly one count; `upgraded` began with polling and changed to WebSocket. */
const transportCountsSchema = z.object({
  websocket: count,
  upgraded: count,
  polling: count,
});
export type TransportCounts = z.infer<typeof transportCountsSchema>;

/** Cumulative counters and histograms of one engine's fleet. */
export const fleetSnapshotSchema = z.object({
  processes: list(fleetProcessHealthSchema),
  accounts: connectionAccountsSchema,
  /** Whether no connection opened or closed while the processes answered one after the other, so that their counts are consistent. */
  still: z.boolean(),
  /** Event loop of the Artillery worker thread. */
  engineLoop: eventLoopHealthSchema,
  connected: count,
  /** Virtual users that finally failed, but not by a lost connection, by cause. */
  failures: counts,
  /** Printable error text of the first failure of each cause. */
  failureExamples: byName(sentence),
  /** Virtual users of other engines in the same run; failures by error. */
  otherUsers: z.object({ started: count, ended: count, failures: counts }),
  /** requests = Σ responses (by status) + Σ failures (by error) + pending */
  http: z.object({ requests: count, pending: count, responses: counts, failures: counts }),
  /** Counts of functions: received events, failed calls, events dropped because the functions were too slow, and their own counters. */
  functions: z.object({ received: count, failures: counts, dropped: count, counters: counts }),
  /** Events that a fleet process dropped, because functions were too slow. */
  eventsDropped: count,
  /** Repeated attempts, of first connections and of reconnects. */
  retries: count,
  /** Connections that ended, by Socket.IO's reason. */
  disconnects: counts,
  /** Ends not requested by a virtual user, also of connections that reconnected, by kind. */
  ends: list(endKindSchema),
  returns: returnCountsSchema,
  /** All opened connections, by current or last transport. */
  transports: transportCountsSchema,
  /** Connections to which the server granted compression. */
  compressed: count,
  /** Connections that stayed on polling although the options include WebSocket, by cause. */
  upgradeFailures: counts,
  /** Open connections, by the worker in the join's acknowledgement. */
  perWorker: counts,
  /**
   * Open connections without a worker from a join, by the first part of the session id, which is the worker's name only on bundled servers.
   */
  perSessionPrefix: counts,
  /** HDR histograms in microseconds, compressed base64. */
  connectUs: each<ConnectStage, typeof histogram>(CONNECT_STAGES, histogram),
  /** Connections whose TLS handshake resumed an earlier session. */
  tlsResumed: count,
  /** Connections opened per interval since the start, from which the achieved rate is computed. */
  openings: timeSeriesSchema,
  connecting: connectingOverTimeSchema,
  /** Set once a planned fault has begun. */
  fault: faultCountsSchema.optional(),
  receipts: receiptTotalsSchema,
  messages: messageTotalsSchema,
  /** Connections that have ended, and the time for which they were open in all, in ms. */
  ended: z.object({ connections: count, openMs: count }),
  /** Acknowledgements that match no message, and repeated ones. */
  unknownAcks: count,
  acks: count,
  /** Acknowledgements with an error object, by its text; further texts are counted under an empty one. */
  ackErrors: counts,
});
export type FleetSnapshot = z.infer<typeof fleetSnapshotSchema>;

/** Counts of an engine's fleet, sent several times a second for the live line, and to detect the end of traffic. */
export const fleetStatusSchema = z.object({
  /** Virtual users that have started. */
  started: count,
  /** Virtual users of other engines that have started. */
  others: count,
  connecting: count,
  connected: count,
  /** Connections with an acknowledged join. */
  joined: count,
  /** Virtual users parked in `hold`. */
  holding: count,
  failed: count,
  /** Connections opened so far, including reconnects. */
  opened: count,
  /** Failed connection attempts so far. */
  failedAttempts: count,
  /** Virtual users that failed, but not by a lost connection, by cause. */
  failures: counts,
  /** Connections closed by either side, by reason. */
  ended: counts,
  /** Broadcast receipts since the start, duplicates included. */
  received: count,
  /** First copies per connection and broadcast, part of `received`. */
  reached: count,
  /** Joins sent and not yet acknowledged. */
  joining: count,
  /** Connected by polling, with an upgrade to WebSocket under way. */
  upgrading: count,
  /** Dropped, with a reconnect under way. */
  away: count,
  /** Largest lateness of a timer in the slowest event loop during the last second. Combined by maximum, not by sum. */
  loopLateMs: count,
});
export type FleetStatus = z.infer<typeof fleetStatusSchema>;
