/**
 * Keeps our faults to ourselves: in somebody else's process, whatever a handler of ours throws, at once or later, ends here.
 * Whoever can provoke faults must not fill a disk with them, so at most one a minute is written to the log.
 */
import { printable } from '../protocol/printable.ts';

const QUIET_MS = 60_000;
const MAX_LINE_LENGTH = 300;

export class Guard {
  /** Counts a message that violates the contract. `event` is one of a fixed set: never a text that came from a client. */
  readonly malformed: (event: string) => void;
  #quietUntilMs = 0;

  constructor(countMalformed: (event: string) => void) {
    this.malformed = countMalformed;
  }

  /** @returns the handler, which neither throws nor rejects now: a fault counts as a malformed `event` */
  wrap<This, Args extends unknown[]>(
    event: string,
    handler: (this: This, ...args: Args) => unknown,
  ): (this: This, ...args: Args) => void {
    const onFault = (fault: unknown) => {
      this.malformed(event);
      this.complain(`${event}: ${fault instanceof Error ? fault.message : typeof fault}`);
    };
    return function (...args) {
      try {
        const done = handler.apply(this, args);
        if (done instanceof Promise) done.catch(onFault);
      } catch (fault) {
        onFault(fault);
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
