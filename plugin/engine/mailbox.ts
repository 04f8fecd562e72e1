/** Newer events push out older ones: a flow that never comes to its `waitFor` must not fill the memory. */
const CAPACITY = 16;

/**
 * Events of one name that a `waitFor` of the flow asks for, kept from the moment their namespace connects, so that
 * none is lost between two steps.
 */
export class Mailbox {
  readonly namespace: string;
  readonly event: string;
  readonly #kept: unknown[][] = [];
  #listener: ((args: unknown[]) => void) | undefined;
  readonly #onOverflow: () => void;

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

  /** Gives the listener what was kept, oldest first, and then what comes, until the returned function is called. */
  listen(listener: (args: unknown[]) => void): () => void {
    this.#listener = listener;
    // The listener may have had enough at any of them; the rest stays for the next one.
    queueMicrotask(() => {
      while (this.#listener === listener && this.#kept.length > 0) listener(this.#kept.shift() as unknown[]);
    });
    return () => {
      if (this.#listener === listener) this.#listener = undefined;
    };
  }
}
