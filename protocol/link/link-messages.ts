/**
 * The messages between a run and its engines (one per Artillery worker thread), the only connection between plugin and engines during a
 * run, also after Ctrl-C. Only sums are sent: ledger rows and encoded histograms, never single receipts. A `Carrier` transports them.
 */
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../codes/error-codes.ts';
import { count, index, instant, list, name, sentence } from './bounded-schemas.ts';
import { messageCountsSchema, messageStageSchema } from './client-messages.ts';
import { faultOrderSchema } from './fault-messages.ts';
import { freezeOrderSchema, frozenBroadcastSchema, sightingsSchema } from './ledger-messages.ts';
import { fleetSnapshotSchema, fleetStatusSchema } from './snapshot.ts';
import { eventCountsSchema } from './time-series.ts';

/** Identifies the reporting engine and its host. Its fleet's processes are numbered within it. */
const engineIdentitySchema = z.object({
  /** Same as `Host.kernel`. */
  host: name,
  /** Artillery's id of the worker. */
  engine: name,
});
export type EngineIdentity = z.infer<typeof engineIdentitySchema>;

/** Order to each engine for short connections before the load; not included in later counts. */
const warmUpOrderSchema = z.object({
  connections: count,
  /** Number of concurrent connections. */
  together: count,
  /** Room to join; undefined if the server may not support `join_room`. */
  room: name.optional(),
});
export type WarmUpOrder = z.infer<typeof warmUpOrderSchema>;

/** An error for the user. */
export const failureSchema = z.object({
  code: z.enum(Object.keys(ERROR_CODES) as ErrorCode[]),
  message: sentence,
  fix: sentence,
});

const requestId = z.int().nonnegative();
const message = <const Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), ...shape });

/** Messages from the run to all engines. */
export const runMessageSchema = z.discriminatedUnion('type', [
  /** Arrivals can begin, because the target is up and the baseline is measured; on several hosts, all begin at `atUs`. */
  message('start', { atUs: instant.optional() }),
  message('warm-up', { requestId, order: warmUpOrderSchema }),
  message('snapshot', { requestId }),
  message('freeze', { requestId, broadcasts: list(freezeOrderSchema) }),
  /**
   * Requests the sightings of the user's own event so far. `watch`: whether ids that appear from now on are counted; `outside`: ids that
   * are not the run's.
   */
  message('sight', { requestId, watch: z.boolean(), outside: list(sentence) }),
  /** Changes the stage of repeated messages, and requests their counts. */
  message('messages', { requestId, stage: messageStageSchema }),
  /** Requests the copies of events without ids since the last request. */
  message('events', { requestId }),
  /** Begins or ends the counts of a planned fault. */
  message('fault', { requestId, order: faultOrderSchema }),
  /** Closes held connections, staggered. */
  message('release', {}),
  /** The residual memory is measured, so held virtual users can end. */
  message('finish', {}),
  /** Ends the run (also after Ctrl-C): engines close everything and reply. */
  message('close', { requestId }),
]);
export type RunMessage = z.infer<typeof runMessageSchema>;

const report = <const Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  message(type, { from: engineIdentitySchema, ...shape });

/** Messages from an engine to the run. */
export const engineMessageSchema = z.discriminatedUnion('type', [
  /** `engines`: number of engines on this host, including this one. */
  report('ready', { engines: index }),
  /** Start of the arrivals; on several hosts, the start time that the run ordered. */
  report('began', { beganAtUs: instant }),
  report('status', { status: fleetStatusSchema }),
  /** All short connections are closed; `failure` is the message of the first failure. */
  report('warmed', { requestId, failure: sentence.optional() }),
  report('snapshot', { requestId, snapshot: fleetSnapshotSchema }),
  report('frozen', { requestId, rows: list(frozenBroadcastSchema) }),
  report('sighted', { requestId, sightings: list(sightingsSchema) }),
  report('messages', { requestId, counts: messageCountsSchema }),
  report('events', { requestId, events: list(eventCountsSchema) }),
  report('faulted', { requestId }),
  report('closed', { requestId }),
  /** The engine's host is lost; no more reports will follow. */
  report('gone', {}),
  report('failed', failureSchema.shape),
]);
export type EngineMessage = z.infer<typeof engineMessageSchema>;
type WithoutSender<Message> = Message extends unknown ? Omit<Message, 'from'> : never;
export type EngineReport = WithoutSender<EngineMessage>;
