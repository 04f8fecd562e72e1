/**
 * The messages between a run and its engines (one per Artillery worker thread). Plugin and engines have no other
 * connection during a run, not even on Ctrl-C. Only sums are sent: ledger rows and encoded histograms, never single
 * messages. A `Carrier` transports them.
 */
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../codes/error-codes.ts';
import { count, index, instant, list, name, sentence } from './bounded-schemas.ts';
import { messageCountsSchema, messageStageSchema } from './client-messages.ts';
import { faultOrderSchema } from './fault-messages.ts';
import { freezeOrderSchema, frozenBroadcastSchema } from './ledger-messages.ts';
import { sightingsSchema } from './sightings.ts';
import { fleetSnapshotSchema } from './snapshot.ts';
import { fleetStatusSchema } from './status.ts';

/** Identifies the engine that reports, and its host. Processes of its fleet are numbered within it. */
const engineIdentitySchema = z.object({
  /** Same as `Host.kernel`. */
  host: name,
  /** Artillery's id of the worker. */
  engine: name,
});
export type EngineIdentity = z.infer<typeof engineIdentitySchema>;

/** Short connections before the load, for each engine; no later count includes them. */
const warmUpOrderSchema = z.object({
  connections: count,
  /** How many at the same time. */
  together: count,
  /** Undefined where the server need not know `join_room`. */
  room: name.optional(),
});
export type WarmUpOrder = z.infer<typeof warmUpOrderSchema>;

/** What a user reads of a mistake. */
export const failureSchema = z.object({
  code: z.enum(Object.keys(ERROR_CODES) as ErrorCode[]),
  message: sentence,
  fix: sentence,
});

const requestId = z.int().nonnegative();
const message = <const Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), ...shape });

/** Run to all engines. */
export const runMessageSchema = z.discriminatedUnion('type', [
  /** The target is up and the baseline is taken: arrivals may begin; on several hosts, all at that time. */
  message('start', { atUs: instant.optional() }),
  message('warm-up', { requestId, order: warmUpOrderSchema }),
  message('snapshot', { requestId }),
  message('freeze', { requestId, broadcasts: list(freezeOrderSchema) }),
  /** What was seen of an own event so far; whether ids that appear from now on are counted; and which are none of the run's. */
  message('sight', { requestId, watch: z.boolean(), outside: list(sentence) }),
  /** How the messages that connections send again and again go on; and how many there were. */
  message('messages', { requestId, stage: messageStageSchema }),
  /** A planned fault begins, or its consequences are over. */
  message('fault', { requestId, order: faultOrderSchema }),
  /** Held connections leave now, staggered. */
  message('release', {}),
  /** The residual is measured: held virtual users can end. */
  message('finish', {}),
  /** The run is over (also after Ctrl-C): close everything and reply. */
  message('close', { requestId }),
]);
export type RunMessage = z.infer<typeof runMessageSchema>;

const report = <const Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  message(type, { from: engineIdentitySchema, ...shape });

/** Engine to run. */
export const engineMessageSchema = z.discriminatedUnion('type', [
  /** `engines`: how many there will be on this host, of which this is one. */
  report('ready', { engines: index }),
  /** Arrivals count from then on; on several hosts, that is when the run had them start. */
  report('began', { beganAtUs: instant }),
  report('status', { status: fleetStatusSchema }),
  /** All short connections have left; `failure` is the message of the first that failed. */
  report('warmed', { requestId, failure: sentence.optional() }),
  report('snapshot', { requestId, snapshot: fleetSnapshotSchema }),
  report('frozen', { requestId, rows: list(frozenBroadcastSchema) }),
  report('sighted', { requestId, sightings: list(sightingsSchema) }),
  report('messages', { requestId, counts: messageCountsSchema }),
  report('faulted', { requestId }),
  report('closed', { requestId }),
  /** Its host is gone: nothing that it had not reported comes any more. */
  report('gone', {}),
  report('failed', failureSchema.shape),
]);
export type EngineMessage = z.infer<typeof engineMessageSchema>;
type WithoutSender<Message> = Message extends unknown ? Omit<Message, 'from'> : never;
export type EngineReport = WithoutSender<EngineMessage>;
