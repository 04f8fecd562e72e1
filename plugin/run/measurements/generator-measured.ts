/** What is known of the load generator itself: its hosts, event loops and quotas of CPU time. */

import type { MachineKind } from '../../../protocol/base/machine/this-host.ts';
import type { EventLoopHealth } from '../../../protocol/link/health.ts';
import type { EngineIdentity } from '../../../protocol/link/link-messages.ts';
import type { MachineShares, Throttled } from '../../../protocol/result/machine-schema.ts';

/** One of several hosts that bring the load, and what is known of it. */
export interface GeneratorHost {
  host: string;
  cores: number;
  /** Limit of its container; null without one. */
  memoryLimitBytes: number | null;
  machine: MachineKind;
  /** In its share of the load. */
  arrivals: number;
  /** When its first phase began, on the run's clock. */
  beganAtUs: number | undefined;
  /** Why it was gone before the end. */
  lost: string | undefined;
  /** How far the run's clock is ahead of its own, and the largest possible error of a converted time. */
  clock: { offsetUs: number; boundUs: number } | undefined;
  /** All its cores, by window: the ramp in which least was idle. */
  cpuIdlePercent: Partial<Record<GeneratorWindow, number>>;
  /** Who used them: of several ramps, that in which others took most. */
  shares: Partial<Record<ShareWindow, MachineShares>>;
  /** As in `Host`. */
  kernel: string;
}

export type GeneratorWindow = 'ramp' | 'messages' | 'broadcasts';

/** In which it is measured who used the CPUs of this machine. */
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
