/** Typed access to Artillery's global object and events. Other modules of the plugin do not use them. */
import { setFlagsFromString } from 'node:v8';
import type { ArtilleryStats, EnsureCheck } from '../result/artillery-stats.ts';

export interface ShutdownOptions {
  earlyStop?: boolean;
  exitCode?: number;
}

interface ArtilleryGlobal {
  testRunId: string;
  version: string;
  /** Exit code of Artillery; undefined or 0 if nothing has set it. */
  suggestedExitCode?: number;
  testInfo: {
    /**
     * Command-line options of Artillery. `platform` is `local`, or the remote platform that runs the load, such as
     * `aws:lambda` or `az:aci`.
     */
    flags: { platform?: string; quiet?: boolean };
    metadata: { testConfig: { phases: unknown[] } };
  };
  globalEvents: {
    prependListener(event: string, listener: () => void): void;
    on(event: 'checks', listener: (checks: EnsureCheck[]) => void): void;
    on(event: 'log', listener: LogListener): void;
    listeners(event: 'log'): LogListener[];
    removeAllListeners(event: 'log'): void;
  };
  log(text: string): void;
  ext(extension: { ext: string; method: (event: ShutdownOptions) => Promise<void> }): void;
  shutdown(options: ShutdownOptions): Promise<void>;
}

type LogListener = (options: object, ...args: unknown[]) => void;

export interface ArtilleryEvents {
  on(event: 'phaseStarted' | 'phaseCompleted', listener: (phase: { index: number }) => void): void;
  on(event: 'stats' | 'done', listener: (stats: ArtilleryStats) => void): void;
  /** Sends an event to the plugins only. Artillery's console and report use other emitters. */
  emit(event: 'stats', stats: ArtilleryStats): void;
}

export function artilleryGlobal(): ArtilleryGlobal {
  return (globalThis as unknown as { artillery: ArtilleryGlobal }).artillery;
}

/** Returns whether this is a worker thread of Artillery. Artillery creates plugins in workers, too. */
export function isArtilleryWorker(): boolean {
  return process.env.LOCAL_WORKER_ID !== undefined;
}

/**
 * Returns the remote platform that runs the load; undefined if the load runs in this process. `run-aci` and
 * `run-lambda` also create the plugins on the user's machine, where no engine runs. `run-fargate` does not; its
 * containers report the platform `local`.
 */
export function remotePlatform(): string | undefined {
  const { platform = 'local' } = artilleryGlobal().testInfo.flags;
  return platform === 'local' ? undefined : platform;
}

/**
 * Sets V8 flags for Artillery's worker threads, which are created later. The young generation is small, because virtual
 * users live long and would fill up to 32 MB of it. The initial heap is large, because V8 would otherwise collect it
 * many times while it grows. This thread keeps its heap.
 */
export function tuneWorkerHeaps(): void {
  setFlagsFromString('--max-semi-space-size=4');
  setFlagsFromString('--initial-old-space-size=128');
}

/**
 * Replaces the phases of the run. Plugins receive only a copy of the script, so the list in Artillery's test
 * information is changed. Artillery divides it among the workers after the plugins have been created (Artillery
 * 2.0.34).
 */
export function replacePhases(phases: unknown[]): void {
  const live = artilleryGlobal().testInfo.metadata.testConfig.phases;
  live.splice(0, live.length, ...phases);
}

/**
 * Disables Artillery's plugin `ensure`, which reads this environment variable at the end of the run (Artillery 2.0.34).
 */
export function disableThresholds(): void {
  process.env.ARTILLERY_DISABLE_ENSURE = 'true';
}
