/** Counts of what the engine, not the fleet, decides on: virtual users, retries, reconnections, failures. */
export interface Tally {
  started: number;
  ended: number;
  holding: number;
  /** As in `FleetStatus`. */
  toOpen: number;
  failed: number;
  retries: number;
  reconnects: number;
  /** Virtual users that failed, by error code. */
  failures: Record<string, number>;
}

export function newTally(): Tally {
  return { started: 0, ended: 0, holding: 0, toOpen: 0, failed: 0, retries: 0, reconnects: 0, failures: {} };
}
