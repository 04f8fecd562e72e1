import type { Fleet } from '../fleet/fleet.ts';
import type { EngineOptions } from '../script/engine-options.ts';
import type { Meter } from './meter.ts';
import type { Signals } from './signals.ts';
import type { Helpers } from './types.ts';

/** What the engine needs of a fleet. */
export type FleetLike = Pick<Fleet, 'connection' | 'reset' | 'status' | 'snapshot' | 'freeze' | 'close'>;

/** What all virtual users of one engine share. */
export interface Run {
  config: EngineOptions;
  fleet: FleetLike;
  helpers: Helpers;
  processor: Record<string, unknown>;
  meter: Meter;
  tally: Tally;
  signals: Signals;
  warn: (message: string) => void;
}

/** Counts of what the engine, not the fleet, decides on. */
export interface Tally {
  started: number;
  ended: number;
  holding: number;
  /** As in `FleetStatus`. */
  toOpen: number;
  failed: number;
  /** Virtual users that ended without a failure. */
  succeeded: number;
  retries: number;
  reconnects: number;
  /** Virtual users that failed, by error code. */
  failures: Record<string, number>;
}

export function newTally(): Tally {
  return {
    started: 0,
    ended: 0,
    holding: 0,
    toOpen: 0,
    failed: 0,
    succeeded: 0,
    retries: 0,
    reconnects: 0,
    failures: {},
  };
}
