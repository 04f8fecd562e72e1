/** Events of a run that all virtual users of a worker wait for: one promise each, however many wait. */
export class Signals {
  /** Arrivals can begin. */
  readonly start = Promise.withResolvers<void>();
  /** Held connections leave. */
  readonly release = Promise.withResolvers<void>();
  /** Held virtual users can call back. */
  readonly finish = Promise.withResolvers<void>();
}
