/** Closes everything that a run has opened, in reverse order. */
type Closer = () => void | Promise<void>;

export class ResourceClosers {
  readonly #closers: Closer[] = [];
  readonly #onError: (error: unknown) => void;
  #closing: Promise<void> | undefined;

  /** @param onError called for each closer that fails; the remaining closers run nevertheless */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** If closing has already begun, calls the closer immediately. */
  add(closer: Closer): void {
    if (this.#closing) void this.#call(closer);
    else this.#closers.push(closer);
  }

  /** Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const closer of this.#closers.splice(0).reverse()) await this.#call(closer);
  }

  async #call(closer: Closer): Promise<void> {
    try {
      await closer();
    } catch (error) {
      this.#onError(error);
    }
  }
}
