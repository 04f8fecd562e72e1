/**
 * Messages between a run and its engines. Each Artillery worker thread has an engine. Plugin and engines use no other
 * connection during a run, not even after Ctrl-C. Only sums are sent, such as ledger rows and encoded histograms. A
 * `Carrier` transports the messages.
 */
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../codes/error-codes.ts';
import {
  boundedCount,
  boundedIndex,
  boundedInstant,
  boundedList,
  boundedName,
  boundedText,
} from './bounded-schemas.ts';
import { messageCountsSchema, messageStageSchema } from './client-messages.ts';
import { faultCommandSchema } from './fault-messages.ts';
import { freezeRequestSchema, frozenBroadcastSchema, ownEventSightingsSchema } from './ledger-messages.ts';
import { fleetSnapshotSchema, fleetStatusSchema } from './snapshot.ts';
import { eventCountsSchema } from './time-series.ts';

/** Identifies an engine and its host. Generator processes are numbered within their engine. */
const engineIdentitySchema = z.object({
  /** Id of the kernel on which the engine runs, as in `Host.kernel`. */
  host: boundedName,
  /** Id that Artillery gave the worker thread of the engine. */
  engine: boundedName,
});
export type EngineIdentity = z.infer<typeof engineIdentitySchema>;

/** Request to open short connections before the load, which warm up the server. Later counts exclude them. */
const warmUpOrderSchema = z.object({
  connections: boundedCount,
  /** Maximum number of warm-up connections that are open at the same time. */
  together: boundedCount,
  /** Room to join; undefined if the server may not support `join_room`. */
  room: boundedName.optional(),
});
export type WarmUpRequest = z.infer<typeof warmUpOrderSchema>;

/** Error that is shown to the user. */
export const userErrorSchema = z.object({
  code: z.enum(Object.keys(ERROR_CODES) as ErrorCode[]),
  message: boundedText,
  fix: boundedText,
});

const requestId = z.int().nonnegative();
const message = <const Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), ...shape });

/** Messages from the run to all engines. */
export const runMessageSchema = z.discriminatedUnion('type', [
  /**
   * Arrivals can begin: the target answers and the memory baseline is measured. With several hosts, all hosts start at
   * `atUs`.
   */
  message('start', { atUs: boundedInstant.optional() }),
  message('warm-up', { requestId, order: warmUpOrderSchema }),
  message('snapshot', { requestId }),
  message('freeze', { requestId, broadcasts: boundedList(freezeRequestSchema) }),
  /**
   * Requests the user's own events that were received so far. `watch`: whether ids that appear from now on are counted.
   * `outside`: ids of broadcasts that the run did not send.
   */
  message('sight', { requestId, watch: z.boolean(), outside: boundedList(boundedText) }),
  /** Sets the stage of the repeated messages (measured, not measured, stopped) and requests their counts. */
  message('messages', { requestId, stage: messageStageSchema }),
  /** Requests the number of copies of events without ids since the last request. */
  message('events', { requestId }),
  /** Starts or ends the counts for a planned fault. */
  message('fault', { requestId, order: faultCommandSchema }),
  /** Closes the connections that virtual users hold, spread over time. */
  message('release', {}),
  /** Allows virtual users in the step `hold` to end, because the residual memory is measured. */
  message('finish', {}),
  /** Ends the run, also after Ctrl-C. Engines close everything and reply. */
  message('close', { requestId }),
]);
export type RunMessage = z.infer<typeof runMessageSchema>;

const report = <const Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  message(type, { from: engineIdentitySchema, ...shape });

/** Interval between status reports of an engine, in milliseconds. */
export const ENGINE_STATUS_INTERVAL_MS = 250;

/** Messages from an engine to the run. */
export const engineMessageSchema = z.discriminatedUnion('type', [
  /** The engine is ready. `engines`: number of engines on this host, including this engine. */
  report('ready', { engines: boundedIndex }),
  /** Arrivals have started. With several hosts, the time is the start time that the run requested. */
  report('began', { beganAtUs: boundedInstant }),
  report('status', { status: fleetStatusSchema }),
  /** All warm-up connections are closed. `failure` is the message of the first failed connection. */
  report('warmed', { requestId, failure: boundedText.optional() }),
  report('snapshot', { requestId, snapshot: fleetSnapshotSchema }),
  report('frozen', { requestId, rows: boundedList(frozenBroadcastSchema) }),
  report('sighted', { requestId, sightings: boundedList(ownEventSightingsSchema) }),
  report('messages', { requestId, counts: messageCountsSchema }),
  report('events', { requestId, events: boundedList(eventCountsSchema) }),
  report('faulted', { requestId }),
  report('closed', { requestId }),
  /** Contact with the engine's host was lost. The host will send no more reports. */
  report('gone', {}),
  report('failed', userErrorSchema.shape),
]);
export type EngineMessage = z.infer<typeof engineMessageSchema>;
type WithoutSender<Message> = Message extends unknown ? Omit<Message, 'from'> : never;
export type EngineReport = WithoutSender<EngineMessage>;
