/** What one connection sends again and again, and what of it has not been acknowledged. */
import type { Client } from '../../client/client.ts';
import type { RepeatedMessage } from '../../client/repeated-message.ts';
import type { MessageWindow } from './message-window.ts';
import type { Turn } from './send-wheel.ts';

/** The part of a connection that sending needs. */
export interface SendingConnection {
  readonly client: Client | undefined;
  readonly open: boolean;
  senders: readonly Sender[];
  /** By acknowledgement id, those that are not acknowledged. */
  unanswered: Map<number, { dueAtUs: number; window: MessageWindow }> | undefined;
}

/** One connection's share in a message. */
export interface Sender extends Turn {
  readonly message: RepeatedMessage;
  readonly connection: SendingConnection;
  readonly sinceUs: number;
}

export const NO_SENDERS: readonly Sender[] = [];
