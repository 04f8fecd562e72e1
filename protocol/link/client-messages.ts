/** Schemas for counts of the messages that connections send repeatedly (step `every`). */
import { z } from 'zod';
import { boundedCount, boundedCounts, objectWithKeys } from './bounded-schemas.ts';
import { histogramSchema } from './histogram-schema.ts';

/**
 * Stage of the messages that clients send repeatedly. `measure`: messages that are due from now on belong to the
 * measured window. `rest`: they do not belong to it. `stop`: no more messages are sent.
 */
export const messageStageSchema = z.enum(['measure', 'rest', 'stop']);
export type MessageStage = z.infer<typeof messageStageSchema>;

/** Counts of repeated messages so far. */
export const messageCountsSchema = z.object({
  sent: boundedCount,
  /** Number of messages on open connections whose acknowledgement has not yet arrived. */
  unanswered: boundedCount,
  /**
   * Messages of `unanswered` that were probably lost: a newer message of the connection was acknowledged, or none ever
   * was.
   */
  skippedByServer: boundedCount,
});
export type MessageCounts = z.infer<typeof messageCountsSchema>;
export const NO_MESSAGE_COUNTS: MessageCounts = { sent: 0, unanswered: 0, skippedByServer: 0 };

const messageTimesSchema = z.object({
  sent: boundedCount,
  acknowledged: boundedCount,
  /**
   * Times from the intended send to the acknowledgement (`ackUs`) and to the actual send (`sendDelayUs`), in
   * microseconds. HDR histograms as compressed base64.
   */
  ackUs: histogramSchema,
  sendDelayUs: histogramSchema,
});
export type MessageTimes = z.infer<typeof messageTimesSchema>;

/**
 * Reason why a message was not sent. `missed`: the process was late by a whole period, so the next message was already
 * due. `disconnected`: there was no connection.
 */
type MessageLoss = 'missed' | 'disconnected';

/**
 * Totals of repeated messages. `due = sent + Σ notSent`; `sent = ackNotRequested + acknowledged + unanswered + lost`. Every
 * count is kept separately, so that these sums can be checked.
 */
export const messageTotalsSchema = z.object({
  /** Number of connections that have started to send. A connection with two `every` steps counts twice. */
  connections: boundedCount,
  /** Messages that were due by schedule, from the start of each connection's step to its end. */
  due: boundedCount,
  sent: boundedCount,
  /** Messages that were not sent, by cause. */
  notSent: objectWithKeys<MessageLoss, typeof boundedCount>(['missed', 'disconnected'], boundedCount),
  /** Messages that did not request an acknowledgement. */
  ackNotRequested: boundedCount,
  acknowledged: boundedCount,
  /** Messages whose acknowledgement is missing, on connections that are open. */
  unanswered: boundedCount,
  /** Open connections with unacknowledged messages. */
  waitingConnections: boundedCount,
  /** Probably lost messages by event, counted as in `messageCountsSchema`. */
  skippedByServer: boundedCounts,
  /** Messages whose acknowledgement is missing, on connections that have closed. */
  lost: boundedCount,
  /** Times of the messages that were due in the measured window. `outside` has the times of all other messages. */
  measured: messageTimesSchema,
  outside: messageTimesSchema,
});
export type MessageTotals = z.infer<typeof messageTotalsSchema>;
