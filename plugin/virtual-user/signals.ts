/** Events of a run that all virtual users of a worker wait for. One promise per event serves any number of waiting users. */
export class Signals {
  /** Resolves when arrivals can begin; with several hosts, at this time of the local clock. */
  readonly start = Promise.withResolvers<number | undefined>();
  /** Resolves when held connections must close. */
  readonly release = Promise.withResolvers<void>();
  /** Resolves when held virtual users can call back. */
  readonly finish = Promise.withResolvers<void>();
}
