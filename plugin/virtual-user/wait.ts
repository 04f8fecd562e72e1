import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import { FlowError } from './flow-error.ts';

/** An event that a virtual user waits for, with a timeout. Settles once, and then removes its timer and listener. */
export class Wait {
  readonly promise: Promise<unknown[]>;
  readonly #resolve: (args: unknown[]) => void;
  readonly #reject: (error: Error) => void;
  readonly #timer: NodeJS.Timeout;
  /** Removes the listener. */
  onEnd: (() => void) | undefined;

  /** @param timeoutCode called at the timeout, when it is known which other events arrived */
  constructor(timeoutMs: number, timeoutCode: () => FailureCode) {
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.fail(new FlowError(timeoutCode())), timeoutMs);
    // The caller can fail before it awaits this promise.
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

  /** Stops waiting; the promise stays pending. Idempotent. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.onEnd?.();
    this.onEnd = undefined;
  }
}
