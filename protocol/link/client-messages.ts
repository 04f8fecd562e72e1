/** Schemas for the messages that connections send repeatedly (step `every`). */
import { z } from 'zod';
import { count, counts, each } from './bounded-schemas.ts';
import { histogram } from './histogram-schema.ts';

/**
 * `measure`: messages due from now on belong to the measured window. `rest`: they do not, as before the window. `stop`: no more are sent.
 */
export const messageStageSchema = z.enum(['measure', 'rest', 'stop']);
export type MessageStage = z.infer<typeof messageStageSchema>;

/** Counts of repeated messages so far. */
export const messageCountsSchema = z.object({
  sent: count,
  /** Messages on open connections whose requested acknowledgement has not arrived. */
  unanswered: count,
  /** Part of `unanswered`: a newer message of the same connection was acknowledged, or none ever was. */
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

/** `missed`: the process was late by a whole period, so the next message was already due. `disconnected`: there was no connection. */
type MessageLoss = 'missed' | 'disconnected';

/**
 * Totals of repeated messages. `due = sent + Σ notSent`; `sent = unasked + acknowledged + unanswered + lost`. All counts are kept
 * independently, so that these sums can be checked.
 */
export const messageTotalsSchema = z.object({
  /** Connections that have begun to send, counted once for each of their steps. */
  connections: count,
  /** Messages due on the schedule, from each connection's begin to its end. */
  due: count,
  sent: count,
  /** Unsent messages by cause. */
  notSent: each<MessageLoss, typeof count>(['missed', 'disconnected'], count),
  /** Sent without requesting an acknowledgement. */
  unasked: count,
  acknowledged: count,
  /** Unacknowledged messages of open connections. */
  unanswered: count,
  /** Open connections with such messages. */
  waitingConnections: count,
  /** Part of `unanswered` as in `messageCountsSchema`, by event. */
  passedOver: counts,
  /** Unacknowledged messages of closed connections. */
  lost: count,
  /** Messages due in the measured window, and all others. */
  measured: messageTimesSchema,
  outside: messageTimesSchema,
});
export type MessageTotals = z.infer<typeof messageTotalsSchema>;
