import { RELEASE_PARTS } from '../../protocol/link/messages.ts';

/** The next multiple of it is always far from the last ones, so that each part has connections of all workers. */
const GOLDEN_RATIO = 0.618033988749895;

/** Events of a run that all virtual users of a worker wait for: one promise each, however many wait. */
export class Signals {
  /** Arrivals can begin: on several hosts, at this time of our clock. */
  readonly start = Promise.withResolvers<number | undefined>();
  /** Held virtual users can call back. */
  readonly finish = Promise.withResolvers<void>();
  readonly #releases = Array.from({ length: RELEASE_PARTS }, () => Promise.withResolvers<void>());
  /** Virtual users so far. */
  #holding = 0;

  /** To be called once by each virtual user that holds. @returns when its part is to leave */
  released(): Promise<void> {
    const part = Math.floor(((this.#holding++ * GOLDEN_RATIO) % 1) * RELEASE_PARTS);
    return (this.#releases[part] as PromiseWithResolvers<void>).promise;
  }

  /** Held connections leave: those of the first parts. Idempotent. */
  release(parts = RELEASE_PARTS): void {
    for (const part of this.#releases.slice(0, parts)) part.resolve();
  }
}
