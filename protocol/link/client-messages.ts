/** The messages that connections send again and again. */
import { z } from 'zod';
import { count, counts, each, histogram } from './bounded-schemas.ts';

/**
 * `measure`: those that are due from now on are of the measured window. `rest`: they are not, as before it. `stop`: none is
 * sent any more.
 */
export const messageStageSchema = z.enum(['measure', 'rest', 'stop']);
export type MessageStage = z.infer<typeof messageStageSchema>;

/** Messages that connections send again and again, so far. */
export const messageCountsSchema = z.object({
  sent: count,
  /** Sent on connections that are still open, and not acknowledged, although they ask for it. */
  unanswered: count,
  /** Of these, passed over: a newer one of the same connection was acknowledged, or none ever. */
  passedOver: count,
});
export type MessageCounts = z.infer<typeof messageCountsSchema>;
export const NO_MESSAGES: MessageCounts = { sent: 0, unanswered: 0, passedOver: 0 };

const messageTimesSchema = z.object({
  sent: count,
  acknowledged: count,
  /** HDR histograms in microseconds, compressed base64, from the intended send: to the acknowledgement, and to the send. */
  ackUs: histogram,
  sendDelayUs: histogram,
});
export type MessageTimes = z.infer<typeof messageTimesSchema>;

/** `missed`: the process was behind by a whole period, and the next one was due. `disconnected`: there was no connection. */
type MessageLoss = 'missed' | 'disconnected';

/**
 * Messages that connections send again and again. `due = sent + Σ notSent`; `sent = unasked + acknowledged + unanswered + lost`.
 * Each sum is of counts that are kept separately, so that both can be checked.
 */
export const messageTotalsSchema = z.object({
  /** Connections that have begun, once for each message that they send. */
  connections: count,
  /** As the schedule has it, from each connection's begin to its end. */
  due: count,
  sent: count,
  /** By cause. */
  notSent: each<MessageLoss, typeof count>(['missed', 'disconnected'], count),
  /** Sent without asking for an acknowledgement. */
  unasked: count,
  acknowledged: count,
  /** Not acknowledged, although the connection is open. */
  unanswered: count,
  /** Of these, passed over, by event. */
  passedOver: counts,
  /** Not acknowledged when the connection ended. */
  lost: count,
  /** Those that were due in the measured window, and the others. */
  measured: messageTimesSchema,
  outside: messageTimesSchema,
});
export type MessageTotals = z.infer<typeof messageTotalsSchema>;
