/** A planned fault: what the run orders, and what became of the connections. */
import type { InstantUs } from '../clock/instants.ts';
import type { TimeSeries } from './series.ts';

/** `begin`: what happens to the connections is counted from `atUs` on; with `drop`, all of them end now. `end`: until now. */
export type FaultOrder = { stage: 'begin'; atUs: InstantUs; drop: boolean } | { stage: 'end' };

/**
 * Of the connections that were open when a planned fault began. `connections = stayed + dropped`; `dropped = back + Σ notBack`.
 * Each sum is of counts that are kept separately, so that both can be checked.
 */
export interface FaultCounts {
  connections: number;
  stayed: number;
  /** At least once. */
  dropped: number;
  /** Dropped, and open at the end. */
  back: number;
  /** By cause. */
  notBack: Record<string, number>;
  /** Returns whose session the server restored. */
  recovered: number;
  /** HDR histogram of the time from `atUs` to the last return of each that is back, in microseconds, compressed base64. */
  backUs: string;
  /** Each time that one of them drops, tries to come back, and returns. */
  drops: TimeSeries;
  attempts: TimeSeries;
  returns: TimeSeries;
  /** Attempts that failed, by cause. */
  failedAttempts: Record<string, number>;
}
