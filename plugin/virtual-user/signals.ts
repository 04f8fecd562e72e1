/** Events of a run that all virtual users of a worker wait for: one promise each, however many wait. */
export class Signals {
  /** Arrivals can begin: on several hosts, at this time of our clock. */
  readonly start = Promise.withResolvers<number | undefined>();
  /** Held connections leave. */
  readonly release = Promise.withResolvers<void>();
  /** Held virtual users can call back. */
  readonly finish = Promise.withResolvers<void>();
}
