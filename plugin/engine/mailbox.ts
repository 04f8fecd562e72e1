/** Events that arrive before the `waitFor` that waits for them. */
import type { FleetConnection } from '../fleet/remote-connection.ts';

/** An event that a `waitFor` of the flow names. */
export interface AwaitedEvent {
  namespace: string;
  event: string;
}

export function isSame(one: AwaitedEvent, other: AwaitedEvent): boolean {
  return one.namespace === other.namespace && one.event === other.event;
}

/** Newer events displace older ones: a flow that never reaches its `waitFor` must not fill the memory. */
const CAPACITY = 16;

/**
 * Keeps the events of one name that a `waitFor` of the flow waits for, from the moment their namespace connects, so that
 * none is lost between two steps.
 */
export class Mailbox {
  readonly namespace: string;
  readonly event: string;
  readonly #kept: unknown[][] = [];
  #listener: ((args: unknown[]) => void) | undefined;
  readonly #onOverflow: () => void;
  /** Lets the connection drop its events from now on. */
  close: () => void = () => {};

  constructor(namespace: string, event: string, onOverflow: () => void) {
    this.namespace = namespace;
    this.event = event;
    this.#onOverflow = onOverflow;
  }

  put(args: unknown[]): void {
    if (this.#listener) this.#listener(args);
    else if (this.#kept.push(args) > CAPACITY) {
      this.#kept.shift();
      this.#onOverflow();
    }
  }

  /** Calls the listener with kept events, oldest first, then with new ones, until the returned function is called. */
  listen(listener: (args: unknown[]) => void): () => void {
    this.#listener = listener;
    // The listener can stop at any event; the rest stays for the next listener.
    queueMicrotask(() => {
      while (this.#listener === listener && this.#kept.length > 0) listener(this.#kept.shift() as unknown[]);
    });
    return () => {
      if (this.#listener === listener) this.#listener = undefined;
    };
  }
}

/** @returns a mailbox for each event, which the connection fills from now on */
export function openMailboxes(
  events: readonly AwaitedEvent[],
  connection: Pick<FleetConnection, 'on'>,
  onOverflow: () => void,
): Mailbox[] {
  return events.map(({ namespace, event }) => {
    const mailbox = new Mailbox(namespace, event, onOverflow);
    mailbox.close = connection.on(namespace, event, (args) => mailbox.put(args));
    return mailbox;
  });
}
