/** Measurements of the load generator itself: its hosts, event loops and CPU quotas. */

import type { MachineKind } from '../../../protocol/base/machine/this-host.ts';
import type { EngineIdentity } from '../../../protocol/link/link-messages.ts';
import type { EventLoopHealth } from '../../../protocol/link/snapshot.ts';
import type { CpuThrottling, MachineShares } from '../../../protocol/result/machine-schema.ts';

/** A host of the generator, if there are several. */
export interface GeneratorHost {
  host: string;
  cores: number;
  /** Memory limit of the host's container; null without a limit. */
  memoryLimitBytes: number | null;
  machine: MachineKind;
  /** Number of arrivals in the host's share of the load. */
  arrivals: number;
  /** When the host's first phase began, on the run's clock. */
  beganAtUs: number | undefined;
  /** Why the host was lost before the end of the run. */
  lost: string | undefined;
  /** Offset of the run's clock from the host's clock, and the maximum error of a converted time. */
  clock: { offsetUs: number; boundUs: number } | undefined;
  /** Idle CPU percentage of the host, by measurement window. If there are several ramps, the lowest value is kept. */
  cpuIdlePercent: Partial<Record<GeneratorWindow, number>>;
  /**
   * CPU use on the host, by measurement window. If there are several ramps, the ramp in which other programs used the
   * most CPU is kept.
   */
  shares: Partial<Record<ShareWindow, MachineShares>>;
  /** Boot id of the host's kernel. Containers on the same machine have the same. */
  kernel: string;
}

export type GeneratorWindow = 'ramp' | 'messages' | 'broadcasts';

/** A measurement window in which the run records which programs on this machine use CPU. */
export type ShareWindow = GeneratorWindow | 'idle';

/** Health of the event loop of one fleet process or Artillery worker thread, in one measurement window. */
export interface GeneratorLoop extends EventLoopHealth {
  window: GeneratorWindow;
  part: 'fleet' | 'artillery';
  from: EngineIdentity;
  /** Index of the fleet process in the fleet of its engine; 0 for the engine's own thread. */
  process: number;
}

export type ThrottledWindows = Partial<Record<GeneratorWindow, CpuThrottling>>;
