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
}

/** One connection's share in a message. */
export interface Sender extends Turn {
  readonly message: RepeatedMessage;
  readonly connection: SendingConnection;
  readonly sinceUs: number;
  /** Sent and not acknowledged, oldest first: a list without an array, as there is rarely more than one. */
  first: Unanswered | undefined;
  last: Unanswered | undefined;
}

export interface Unanswered {
  readonly ackId: number;
  readonly dueAtUs: number;
  readonly window: MessageWindow;
  next: Unanswered | undefined;
}

export const NO_SENDERS: readonly Sender[] = [];

export function append(sender: Sender, unanswered: Unanswered): void {
  if (sender.last === undefined) sender.first = unanswered;
  else sender.last.next = unanswered;
  sender.last = unanswered;
}

export function unansweredOf({ first }: Sender): number {
  let count = 0;
  for (let one = first; one !== undefined; one = one.next) count++;
  return count;
}

/** Removes it. The first one is nearly always the one. @returns undefined if there is none with this id */
export function take(sender: Sender, ackId: number): Unanswered | undefined {
  let before: Unanswered | undefined;
  for (let one = sender.first; one !== undefined; one = one.next) {
    if (one.ackId === ackId) {
      if (before === undefined) sender.first = one.next;
      else before.next = one.next;
      if (sender.last === one) sender.last = before;
      return one;
    }
    before = one;
  }
  return undefined;
}
