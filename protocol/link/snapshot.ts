/** What an engine tells of its whole fleet: cumulative counters and histograms. */
import { z } from 'zod';
import { CONNECT_STAGES, type ConnectStage } from '../wire/connection.ts';
import { byName, count, counts, each, histogram, list, sentence } from './bounded-schemas.ts';
import { messageTotalsSchema } from './client-messages.ts';
import { endKindSchema } from './ends.ts';
import { faultCountsSchema } from './fault-messages.ts';
import { eventLoopHealthSchema, fleetProcessHealthSchema } from './health.ts';
import { receiptTotalsSchema } from './ledger-messages.ts';
import { connectingOverTimeSchema, timeSeriesSchema } from './time-series.ts';

/** What became of all requested connections: asked = pending + Σ failed + alive + Σ ended. */
const connectionAccountsSchema = z.object({
  asked: count,
  pending: count,
  alive: count,
  /** Most that were alive at the same time; of several engines, the sum of the most of each. */
  peak: count,
  /** Never opened, by cause. */
  failed: counts,
  /** Opened and not alive any more, by Socket.IO's reason; `io client disconnect` is our own disconnect. */
  ended: counts,
  /** Ends of connections that came back: the number of times. */
  returned: count,
});

/**
 * Connections that drop and should come back: dropped = returned + gaveUp + left + away. One that drops twice counts twice.
 */
const returnCountsSchema = z.object({
  dropped: count,
  returned: count,
  /** Returned with the session that the server restored. */
  recovered: count,
  /** After the last attempt. */
  gaveUp: count,
  /** Closed by their virtual users meanwhile. */
  left: count,
  /** Now. */
  away: count,
  /** Attempts after the first one of an absence. */
  retries: count,
  /** HDR histogram of the time from the drop to the return, in microseconds, compressed base64. */
  awayUs: histogram,
});
export type ReturnCounts = z.infer<typeof returnCountsSchema>;

/** Every connection that has opened is in exactly one: `upgraded` began with polling and is WebSocket now. */
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
  /** No connection opened or ended while the processes answered one after the other, so their counts are of one moment. */
  still: z.boolean(),
  /** Event loop of the Artillery worker thread. */
  engineLoop: eventLoopHealthSchema,
  connected: count,
  /** Virtual users that failed for good although they lost no connection, by cause. */
  failures: counts,
  /** What was said at the first of them, by cause; printable. */
  failureExamples: byName(sentence),
  /** Repeated attempts of first connections and of those that come back. */
  retries: count,
  /** Connections that ended, by Socket.IO's reason. */
  disconnects: counts,
  /** Ends that no virtual user asked for, also of connections that came back, by kind. */
  ends: list(endKindSchema),
  returns: returnCountsSchema,
  /** Every connection that has opened, by its transport now or at its end. */
  transports: transportCountsSchema,
  /** Connections whose WebSocket the server has granted compression. */
  compressed: count,
  /** Connections that stayed on polling, although the options ask for WebSocket, by cause. */
  upgradeFailures: counts,
  /** Connections now, by the worker that the join's acknowledgement named. */
  perWorker: counts,
  /** Connections now that no join named, by the first part of the session id: a worker's name on our own servers only. */
  perSessionPrefix: counts,
  /** HDR histograms in microseconds, compressed base64. */
  connectUs: each<ConnectStage, typeof histogram>(CONNECT_STAGES, histogram),
  /** Connections whose TLS handshake resumed an earlier session. */
  tlsResumed: count,
  /** Connections opened per interval since the start, the source of the achieved rate. */
  openings: timeSeriesSchema,
  connecting: connectingOverTimeSchema,
  /** Once a planned fault has begun. */
  fault: faultCountsSchema.optional(),
  receipts: receiptTotalsSchema,
  messages: messageTotalsSchema,
  /** Acknowledgements of nothing that was sent, and repeated ones. */
  unknownAcks: count,
  acks: count,
  /** Of these, the ones that carry an error object, by its words; without words, further ones. */
  ackErrors: counts,
});
export type FleetSnapshot = z.infer<typeof fleetSnapshotSchema>;
