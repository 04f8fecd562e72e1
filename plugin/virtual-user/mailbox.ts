/** Keeps events that arrive before the flow reaches the `waitFor` step for them. */

import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import type { ListenMode } from '../fleet/fleet-messages.ts';
import type { FleetConnection } from '../fleet/remote-connection.ts';
import { FlowError } from './flow-error.ts';
import type { ScenarioEvents, UserContext } from './user-types.ts';

/** An event for which the flow has a `waitFor` step. */
export interface AwaitedEvent {
  namespace: string;
  event: string;
}

/** An event that the flow passes to a function whenever it arrives. */
export interface WatchedEvent extends AwaitedEvent {
  /** Handles a received event. Never throws. */
  receive(args: unknown[], context: UserContext, events: ScenarioEvents): void;
}

export function isSameEvent(one: AwaitedEvent, other: AwaitedEvent): boolean {
  return one.namespace === other.namespace && one.event === other.event;
}

/**
 * Largest number of events that are kept for a step. Newer events replace older events, because a flow may never reach
 * its `waitFor` step.
 */
const CAPACITY = 16;

/**
 * Events for one `waitFor` step, kept from the time at which their namespace opens. Events that arrive between steps
 * are held in the fleet process. Events that were delivered but not used are kept here.
 */
export class Mailbox {
  readonly namespace: string;
  readonly event: string;
  readonly #kept: unknown[][] = [];
  #listener: ((args: unknown[]) => void) | undefined;
  readonly #onDisplaced: (count: number) => void;
  readonly #listen: (mode: ListenMode) => void;

  /**
   * Starts to keep events.
   * @param connection connection whose events are kept
   */
  constructor(
    { namespace, event }: AwaitedEvent,
    connection: Pick<FleetConnection, 'listen'>,
    onDisplaced: (count: number) => void,
  ) {
    this.namespace = namespace;
    this.event = event;
    this.#onDisplaced = onDisplaced;
    this.#listen = connection.listen(namespace, event, (args) => this.#put(args));
    this.#listen('hold');
  }

  /** Stops keeping events. The fleet process discards them from now on. */
  close(): void {
    this.#listen('drop');
  }

  #put(args: unknown[]): void {
    if (this.#listener) this.#listener(args);
    else if (this.#kept.push(args) > CAPACITY) {
      this.#kept.shift();
      this.#onDisplaced(1);
    }
  }

  /**
   * Calls the listener with the kept events, oldest first, and then with new events. Ends with `stop`, which the
   * listener may call.
   */
  listen(listener: (args: unknown[]) => void): void {
    this.#listener = listener;
    while (this.#listener === listener && this.#kept.length > 0) listener(this.#kept.shift() as unknown[]);
    if (this.#listener === listener) this.#listen('take');
  }

  /** Removes the listener. Later events are kept for the next listener. */
  stop(): void {
    this.#listener = undefined;
    this.#listen('hold');
  }
}

/** An event that a virtual user waits for, with a timeout. When it settles, its timer and listener are removed. */
export class EventWait {
  readonly #settled = Promise.withResolvers<unknown[]>();
  readonly promise = this.#settled.promise;
  readonly #timer: NodeJS.Timeout;
  /** Removes the listener. Called when the wait ends. */
  onEnd: (() => void) | undefined;

  /**
   * Starts to wait for an event.
   * @param timeoutCode returns the error code for a timeout; called only after a timeout, because the code can depend
   * on other events
   */
  constructor(timeoutMs: number, timeoutCode: () => FailureCode) {
    this.#timer = setTimeout(() => this.fail(new FlowError(timeoutCode())), timeoutMs);
    // Prevents an unhandled rejection: the caller may fail before it awaits the promise.
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

  /** Stops waiting. The promise of the wait stays pending. Idempotent. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.onEnd?.();
    this.onEnd = undefined;
  }
}
