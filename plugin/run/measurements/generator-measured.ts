/** Measurements of the load generator itself: its hosts, event loops and CPU quotas. */

import type { MachineKind } from '../../../protocol/base/machine/this-host.ts';
import type { EngineIdentity } from '../../../protocol/link/link-messages.ts';
import type { EventLoopHealth } from '../../../protocol/link/snapshot.ts';
import type { MachineShares, Throttled } from '../../../protocol/result/machine-schema.ts';

/** A host of the generator, if there are several. */
export interface GeneratorHost {
  host: string;
  cores: number;
  /** Memory limit of its container; null without one. */
  memoryLimitBytes: number | null;
  machine: MachineKind;
  /** Arrivals in its share of the load. */
  arrivals: number;
  /** When its first phase began, on the run's clock. */
  beganAtUs: number | undefined;
  /** Why it was lost before the end. */
  lost: string | undefined;
  /** How far the run's clock is ahead of the host's, and the maximum error of a converted time. */
  clock: { offsetUs: number; boundUs: number } | undefined;
  /** Idle CPU by window; the lowest value of several ramps. */
  cpuIdlePercent: Partial<Record<GeneratorWindow, number>>;
  /** CPU use by window. For several ramps, the ramp in which other programs used most. */
  shares: Partial<Record<ShareWindow, MachineShares>>;
  /** Identity of the kernel, see `Host`. */
  kernel: string;
}

export type GeneratorWindow = 'ramp' | 'messages' | 'broadcasts';

/** A window for which the CPU use of this machine's programs is measured. */
export type ShareWindow = GeneratorWindow | 'idle';

/** The event loop of one fleet process, or of one Artillery worker thread, in one window of the run. */
export interface GeneratorLoop extends EventLoopHealth {
  window: GeneratorWindow;
  part: 'fleet' | 'artillery';
  from: EngineIdentity;
  /** Number of the fleet process within its engine's fleet; 0 for the engine's own thread. */
  process: number;
}

export type ThrottledWindows = Partial<Record<GeneratorWindow, Throttled>>;
