import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import { FlowError } from './flow-error.ts';

/** An event that a virtual user waits for, with a timeout. Settles once, and then removes its timer and listener. */
export class Wait {
  readonly #settled = Promise.withResolvers<unknown[]>();
  readonly promise = this.#settled.promise;
  readonly #timer: NodeJS.Timeout;
  /** Removes the listener. */
  onEnd: (() => void) | undefined;

  /** @param timeoutCode called at the timeout, when it is known which other events arrived */
  constructor(timeoutMs: number, timeoutCode: () => FailureCode) {
    this.#timer = setTimeout(() => this.fail(new FlowError(timeoutCode())), timeoutMs);
    // The caller can fail before it awaits this promise.
    this.promise.catch(() => {});
  }

  done(args: unknown[]): void {
    this.cancel();
    this.#settled.resolve(args);
  }

  fail(error: Error): void {
    this.cancel();
    this.#settled.reject(error);
  }

  /** Stops waiting; the promise stays pending. Idempotent. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.onEnd?.();
    this.onEnd = undefined;
  }
}
