/** Snapshot of an engine's whole fleet: cumulative counters and histograms. */
import { z } from 'zod';
import { CONNECT_STAGES, type ConnectStage } from '../wire/connection.ts';
import { byName, count, counts, each, list, sentence } from './bounded-schemas.ts';
import { messageTotalsSchema } from './client-messages.ts';
import { endKindSchema } from './ends.ts';
import { faultCountsSchema } from './fault-messages.ts';
import { eventLoopHealthSchema, fleetProcessHealthSchema } from './health.ts';
import { histogram } from './histogram-schema.ts';
import { receiptTotalsSchema } from './ledger-messages.ts';
import { connectingOverTimeSchema, timeSeriesSchema } from './time-series.ts';

/** Account of all requested connections: asked = pending + Σ failed + alive + Σ ended. */
const connectionAccountsSchema = z.object({
  asked: count,
  pending: count,
  alive: count,
  /** Most that were alive at the same time; of several engines, the sum of the most of each. */
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
  /** Events that functions received, calls that failed, events that the functions were too slow for, and their own counters. */
  functions: z.object({ received: count, failures: counts, dropped: count, counters: counts }),
  /** Events that a fleet process did not hand over, because functions were too slow. */
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
