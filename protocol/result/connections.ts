/** The section `connections` of the result document. */
import { z } from 'zod';
import { TRANSPORTS, type TransportsName } from '../connection.ts';
import { count, summary, summarySchema } from './parts.ts';

export const connectionsSchema = z.strictObject({
  target: count,
  peak: count,
  failed: count,
  failures: z.record(z.string(), count),
  /** What the server said, or what went wrong, at the first failure of each cause. */
  failureExamples: z.record(z.string(), z.string()).default({}),
  /** Connections that virtual users tried to open. */
  asked: count.default(0),
  /** How many of these were open at some time. */
  opened: count.default(0),
  /** Open after all broadcasts; null where virtual users come and go, or nobody counts. */
  held: count.nullable().default(null),
  /** Opened, and ended other than by their virtual users, by Socket.IO's reason. */
  lost: z.record(z.string(), count).default({}),
  /** Virtual users that Artillery did not start, because a phase's `maxVusers` were present. */
  skipped: count.default(0),
  /** Acknowledgements of nothing that was sent, and repeated ones. */
  unknownAcks: count.default(0),
  retries: count,
  /** Null if no connection that is to come back has dropped. `dropped = returned + gaveUp + left + away`. */
  reconnection: z
    .strictObject({
      /** Each time that a connection drops. */
      dropped: count,
      returned: count,
      /** Of these, those whose session the server restored. */
      recovered: count,
      /** After the last attempt. */
      gaveUp: count,
      /** Closed by their virtual users while they were away. */
      left: count,
      /** At the end. */
      away: count,
      /** From the drop to the return. */
      awayMs: summary,
    })
    .nullable()
    .default(null),
  disconnects: z.record(z.string(), count),
  configuredRatePerSec: z.number().nullable(),
  achievedRatePerSec: z.number().nullable(),
  rampSeconds: z.number().nullable(),
  connectMs: summary,
  stagesMs: z.record(z.string(), summarySchema),
  /** One value for each second or more; null where nobody counts, and in results of older versions. */
  overTime: z
    .strictObject({
      intervalSeconds: z.number(),
      /** Where each interval starts, on the time axis of the samples. */
      t: z.array(z.number()),
      /** First connections. */
      opened: z.array(count),
      /** Their connect times; null where none opened. */
      meanMs: z.array(z.number().nullable()),
      slowestMs: z.array(z.number().nullable()),
      /** Attempts. */
      failed: z.array(count),
      /** Connections, other than by their virtual users. */
      ended: z.array(count),
    })
    .nullable()
    .default(null),
  /** Of the connections that opened; null without TLS, and with the official client. */
  tlsHandshakes: z.strictObject({ full: count, resumed: count }).nullable().default(null),
  /** Null where nobody counts, and in results of older versions. */
  transports: z
    .strictObject({
      /** `default` is polling, then WebSocket. */
      configured: z.enum(Object.keys(TRANSPORTS) as TransportsName[]),
      /** From the start. */
      websocket: count,
      /** Began with polling, and WebSocket now or at their end. `opened = websocket + upgraded + polling`. */
      upgraded: count,
      /** Still, or until their end. */
      polling: count,
      /** Upgrades that failed, by cause. */
      upgradeFailures: z.record(z.string(), count),
    })
    .nullable()
    .default(null),
  /** permessage-deflate. Null where nobody counts, and in results of older versions, which never asked for it. */
  compression: z
    .strictObject({
      /** The connections offered it to the server. */
      asked: z.boolean(),
      /** Of those that opened, how many the server granted it. */
      granted: count,
      /** The server grants it to a client that offers it; null if that is not known. */
      byServer: z.boolean().nullable(),
    })
    .nullable()
    .default(null),
  /** By the worker that their join or their session names; empty where restored sessions can be on any of several. */
  perWorker: z.record(z.string(), count),
  /** Clients of each server as `@socket.io/admin-ui` in it counts them, the run's own included; null without one. */
  perServer: z.record(z.string(), count).nullable().default(null),
});
