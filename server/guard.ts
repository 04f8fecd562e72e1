/**
 * Keeps our faults to ourselves: in somebody else's process, whatever a handler of ours throws, at once or later, ends here. Logs at
 * most one line a minute, and closes a connection that goes on sending malformed messages: each costs the process some time.
 */
import { printable } from '../protocol/base/printable.ts';

const QUIET_MS = 60_000;
const MAX_LINE_LENGTH = 300;

/** Malformed messages of one connection, after which it is closed. */
export const MAX_MALFORMED = 100;

/** A connection of Socket.IO, or one of `ws`. */
type Sender = { disconnect(close: boolean): unknown } | { terminate(): void };

interface Counters {
  malformed(event: string): void;
  closed?(): void;
}

export class Guard {
  readonly #counters: Counters;
  /** Malformed messages by sender; those that send none take no memory. */
  readonly #ofSender = new WeakMap<object, number>();
  #quietUntilMs = 0;

  constructor(counters: Counters) {
    this.#counters = counters;
  }

  /**
   * Counts a message that violates the contract, and closes the connection of its sender if it is one too many.
   * @param event one of a fixed set: never a text that came from a client
   */
  malformed(event: string, sender?: unknown): void {
    this.#counters.malformed(event);
    if (!isSender(sender)) return;
    const count = (this.#ofSender.get(sender) ?? 0) + 1;
    this.#ofSender.set(sender, count);
    if (count !== MAX_MALFORMED) return;
    this.#counters.closed?.();
    this.complain(`closed a connection after ${MAX_MALFORMED} malformed messages, the last one: ${event}`);
    if ('terminate' in sender) sender.terminate();
    else sender.disconnect(true);
  }

  /** @returns the handler, which neither throws nor rejects now: a fault counts as a malformed `event` */
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

  /** Writes one line to the log of the process, unless there was one within the last minute. */
  complain(text: string): void {
    const nowMs = performance.now();
    if (nowMs < this.#quietUntilMs) return;
    this.#quietUntilMs = nowMs + QUIET_MS;
    console.error(printable(`socketio-capacity: ${text}`, MAX_LINE_LENGTH));
  }
}

function isSender(sender: unknown): sender is Sender {
  return typeof sender === 'object' && sender !== null && ('disconnect' in sender || 'terminate' in sender);
}
