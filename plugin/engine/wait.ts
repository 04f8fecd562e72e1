import type { FailureCode } from '../../protocol/failure-codes.ts';
import { FlowError } from './flow-error.ts';

/** One thing a virtual user waits for, with a deadline. Settles once; its timer and listener end with it. */
export class Wait {
  readonly promise: Promise<unknown[]>;
  readonly #resolve: (args: unknown[]) => void;
  readonly #reject: (error: Error) => void;
  readonly #timer: NodeJS.Timeout;
  /** Stops the listening. */
  onEnd: (() => void) | undefined;

  /** @param timeoutCode decided at the deadline, when it is known what came instead */
  constructor(timeoutMs: number, timeoutCode: () => FailureCode) {
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.fail(new FlowError(timeoutCode())), timeoutMs);
    // Whoever armed it may fail before it comes to awaiting this.
    promise.catch(() => {});
  }

  done(args: unknown[]): void {
    this.cancel();
    this.#resolve(args);
  }

  fail(error: Error): void {
    this.cancel();
    this.#reject(error);
  }

  /** Ends it without an outcome. Idempotent. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.onEnd?.();
    this.onEnd = undefined;
  }
}
