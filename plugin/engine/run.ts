import type { Fleet } from '../fleet/fleet.ts';
import type { EngineConfig } from './config.ts';
import type { Meter } from './meter.ts';
import type { Session } from './session.ts';
import type { Signals } from './signals.ts';
import type { Context, Helpers, ScenarioEvents } from './types.ts';

/** What the engine needs of a fleet. */
export type FleetLike = Pick<Fleet, 'connection' | 'reset' | 'status' | 'snapshot' | 'freeze' | 'close'>;

/** What all virtual users of one engine share. */
export interface Run {
  config: EngineConfig;
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
  retries: number;
  reconnects: number;
  /** Virtual users that failed, by error code. */
  failures: Record<string, number>;
}

export function newTally(): Tally {
  return { started: 0, ended: 0, holding: 0, toOpen: 0, failed: 0, retries: 0, reconnects: 0, failures: {} };
}

/** One virtual user, as its steps see it. */
export interface VirtualUser {
  context: Context;
  session: Session;
  events: ScenarioEvents;
}

/** One compiled step. Returns nothing when it is done at once, and throws or rejects to end the flow. */
export type Step = (user: VirtualUser) => Promise<void> | void;

/** Runs the steps in turn; a connection that dropped during a step ends the flow after it. */
export async function runSteps(steps: Step[], user: VirtualUser): Promise<void> {
  for (let index = 0; index < steps.length; index++) {
    const pending = steps[index]?.(user);
    if (pending) await pending;
    if (user.session.dropped) throw user.session.dropped;
  }
}
