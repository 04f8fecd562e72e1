/** The messages that connections send again and again. */

/**
 * `measure`: those that are due from now on are of the measured window. `rest`: they are not, as before it. `stop`: none is
 * sent any more.
 */
export type MessageStage = 'measure' | 'rest' | 'stop';

/** Of the messages that connections send again and again, so far. */
export interface MessageCounts {
  sent: number;
  /** Sent on connections that are still open, and not acknowledged, although they ask for it. */
  unanswered: number;
}

/**
 * Messages that connections send again and again. `due = sent + Σ notSent`; `sent = unasked + acknowledged + unanswered + lost`.
 * Each sum is of counts that are kept separately, so that both can be checked.
 */
export interface MessageTotals {
  /** Connections that have begun, once for each message that they send. */
  connections: number;
  /** As the schedule has it, from each connection's begin to its end. */
  due: number;
  sent: number;
  /** By cause. */
  notSent: Record<MessageLoss, number>;
  /** Sent without asking for an acknowledgement. */
  unasked: number;
  acknowledged: number;
  /** Not acknowledged, although the connection is open. */
  unanswered: number;
  /** Not acknowledged when the connection ended. */
  lost: number;
  /** Those that were due in the measured window, and the others. */
  measured: MessageTimes;
  outside: MessageTimes;
}

/** `missed`: the process was behind by a whole period, and the next one was due. `disconnected`: there was no connection. */
export type MessageLoss = 'missed' | 'disconnected';

export interface MessageTimes {
  sent: number;
  acknowledged: number;
  /** HDR histograms in microseconds, compressed base64, from the intended send: to the acknowledgement, and to the send. */
  ackUs: string;
  sendDelayUs: string;
}
