/** Moments of a run that all virtual users of a worker wait for together; one promise each, however many wait. */
export class Signals {
  /** Arrivals may begin. */
  readonly start = Promise.withResolvers<void>();
  /** Held connections leave. */
  readonly release = Promise.withResolvers<void>();
  /** Held virtual users may call back. */
  readonly finish = Promise.withResolvers<void>();
}
