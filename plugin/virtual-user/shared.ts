/** Objects that all virtual users of an Artillery worker share. */
import type { FleetConnection } from '../fleet/remote-connection.ts';
import type { EngineOptions } from '../script/options/engine-options.ts';
import type { HttpEngine } from './artillery-types.ts';
import type { Meter } from './meter.ts';
import type { RunSignals } from './signals.ts';
import type { UserTally } from './tally.ts';
import type { ArtilleryHelpers } from './user-types.ts';

export interface SharedByUsers {
  config: EngineOptions;
  /** Fleet that creates the connections of the virtual users. */
  fleet: { connection(): FleetConnection };
  helpers: ArtilleryHelpers;
  /** Artillery's HTTP engine; undefined if no flow has HTTP steps. */
  http: HttpEngine | undefined;
  processor: Record<string, unknown>;
  meter: Meter;
  tally: UserTally;
  signals: RunSignals;
  warn: (message: string) => void;
}
