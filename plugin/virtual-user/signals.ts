/** Events of a run for which all virtual users of a worker wait. Each event is a single promise. */
export class RunSignals {
  /**
   * Resolves when arrivals may begin. In a run over several hosts, it resolves with the common start time on the local
   * clock.
   */
  readonly start = Promise.withResolvers<number | undefined>();
  /** Resolves when the run releases held connections, which must then close. */
  readonly release = Promise.withResolvers<void>();
  /** Resolves when virtual users that have held a connection may end. */
  readonly finish = Promise.withResolvers<void>();
}
