/**
 * Protects the user's process from errors in the handlers of this package. Catches exceptions and rejections, logs at
 * most one line a minute, and closes connections that keep sending malformed messages.
 */
import { printableLine } from '../protocol/base/printable.ts';

const QUIET_MS = 60_000;
const MAX_LINE_LENGTH = 300;

/** Number of malformed messages after which a connection is closed. */
export const MAX_MALFORMED_MESSAGES = 100;

/** Sender of a message: a Socket.IO socket or a `ws` WebSocket. */
type Sender = { disconnect(close: boolean): unknown } | { terminate(): void };

interface Counters {
  malformed(event: string): void;
  closed?(): void;
}

export class HandlerGuard {
  readonly #counters: Counters;
  /** Number of malformed messages by sender. A sender without malformed messages has no entry. */
  readonly #malformedBySender = new WeakMap<object, number>();
  #quietUntilMs = 0;

  constructor(counters: Counters) {
    this.#counters = counters;
  }

  /**
   * Counts a message that violates the contract. Closes the sender's connection at `MAX_MALFORMED_MESSAGES`.
   * @param event name from a fixed set, because it becomes a metric label; never text from a client
   */
  malformed(event: string, sender?: unknown): void {
    this.#counters.malformed(event);
    if (!isSender(sender)) return;
    const count = (this.#malformedBySender.get(sender) ?? 0) + 1;
    this.#malformedBySender.set(sender, count);
    if (count !== MAX_MALFORMED_MESSAGES) return;
    this.#counters.closed?.();
    this.complain(`closed a connection after ${MAX_MALFORMED_MESSAGES} malformed messages, the last one: ${event}`);
    if ('terminate' in sender) sender.terminate();
    else sender.disconnect(true);
  }

  /** Returns a handler that never throws or rejects. An error counts as a malformed `event`. */
  wrap<This, Args extends unknown[]>(
    event: string,
    handler: (this: This, ...args: Args) => unknown,
  ): (this: This, ...args: Args) => void {
    const onFault = (fault: unknown, sender: unknown) => {
      this.malformed(event, sender);
      this.complain(`${event}: ${fault instanceof Error ? fault.message : typeof fault}`);
    };
    return function (...args) {
      try {
        const done = handler.apply(this, args);
        if (done instanceof Promise) done.catch((fault) => onFault(fault, this));
      } catch (fault) {
        onFault(fault, this);
      }
    };
  }

  /** Logs a line to stderr, at most once a minute. */
  complain(text: string): void {
    const nowMs = performance.now();
    if (nowMs < this.#quietUntilMs) return;
    this.#quietUntilMs = nowMs + QUIET_MS;
    console.error(printableLine(`socketio-capacity: ${text}`, MAX_LINE_LENGTH));
  }
}

function isSender(sender: unknown): sender is Sender {
  return typeof sender === 'object' && sender !== null && ('disconnect' in sender || 'terminate' in sender);
}
