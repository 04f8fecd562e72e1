/** What an engine gives to the sessions and steps of its virtual users. */
import type { Fleet } from '../fleet/fleet.ts';
import type { EngineOptions } from '../script/options/engine-options.ts';
import type { HttpEngine } from './http-engine.ts';
import type { Meter } from './meter.ts';
import type { Signals } from './signals.ts';
import type { Tally } from './tally.ts';
import type { Helpers } from './types.ts';

/** What the engine needs of a fleet. */
export type FleetLike = Pick<
  Fleet,
  'connection' | 'reset' | 'status' | 'snapshot' | 'freeze' | 'sight' | 'messages' | 'fault' | 'close'
>;

/** Shared by all virtual users of one engine. */
export interface EngineContext {
  config: EngineOptions;
  fleet: FleetLike;
  helpers: Helpers;
  /** Undefined if no flow has HTTP steps. */
  http: HttpEngine | undefined;
  processor: Record<string, unknown>;
  meter: Meter;
  tally: Tally;
  signals: Signals;
  /** By how much all arrivals are put off. */
  putOffMs: number;
  warn: (message: string) => void;
}
