/** Events that arrive before their `waitFor`. */

import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import type { ListenMode } from '../fleet/fleet-messages.ts';
import type { FleetConnection } from '../fleet/remote-connection.ts';
import { FlowError } from './flow-error.ts';
import type { ScenarioEvents, UserContext } from './user-types.ts';

/** An event that a `waitFor` step of the flow expects. */
export interface AwaitedEvent {
  namespace: string;
  event: string;
}

/** An event whose every copy the flow handles. */
export interface WatchedEvent extends AwaitedEvent {
  /** Handles the event. Never throws. */
  receive(args: unknown[], context: UserContext, events: ScenarioEvents): void;
}

export function isSame(one: AwaitedEvent, other: AwaitedEvent): boolean {
  return one.namespace === other.namespace && one.event === other.event;
}

/** Largest number of kept events. Newer events displace older ones, because a flow may never reach its `waitFor`. */
const CAPACITY = 16;

/**
 * Keeps events for a `waitFor` of the flow from the moment their namespace connects, so that none is lost between two
 * steps. While no step waits, the fleet process holds the events. The mailbox holds events that were delivered to a step
 * but not used.
 */
export class Mailbox {
  readonly namespace: string;
  readonly event: string;
  readonly #kept: unknown[][] = [];
  #listener: ((args: unknown[]) => void) | undefined;
  readonly #onDisplaced: (count: number) => void;
  readonly #listen: (mode: ListenMode) => void;

  /** @param connection source of the events from now on */
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

  /** Lets the connection drop its events from now on. */
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

  /** Calls the listener with kept events, oldest first, then with new ones, until `stop`, which the listener itself may call. */
  listen(listener: (args: unknown[]) => void): void {
    this.#listener = listener;
    while (this.#listener === listener && this.#kept.length > 0) listener(this.#kept.shift() as unknown[]);
    if (this.#listener === listener) this.#listen('take');
  }

  /** Ends listening; later events are kept for the next listener. */
  stop(): void {
    this.#listener = undefined;
    this.#listen('hold');
  }
}

/** An event that a virtual user waits for, with a timeout. Settles once, then removes its timer and listener. */
export class Wait {
  readonly #settled = Promise.withResolvers<unknown[]>();
  readonly promise = this.#settled.promise;
  readonly #timer: NodeJS.Timeout;
  /** Removes the listener. */
  onEnd: (() => void) | undefined;

  /** @param timeoutCode called at the timeout; the code can depend on which other events have arrived */
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
