/** Typed access to Artillery's global object and events. No other module of the plugin touches them. */
import { setFlagsFromString } from 'node:v8';
import type { ArtilleryStats, Check } from '../result/artillery-stats.ts';

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
    /** `platform`: `local`, or the remote platform of the load, such as `aws:lambda` or `az:aci`. */
    flags: { platform?: string; quiet?: boolean };
    metadata: { testConfig: { phases: unknown[] } };
  };
  globalEvents: {
    prependListener(event: string, listener: () => void): void;
    on(event: 'checks', listener: (checks: Check[]) => void): void;
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
  /** Received only by plugins: Artillery's console and report have emitters of their own. */
  emit(event: 'stats', stats: ArtilleryStats): void;
}

export function artillery(): ArtilleryGlobal {
  return (globalThis as unknown as { artillery: ArtilleryGlobal }).artillery;
}

/** Plugins are also instantiated in every worker thread. */
export function isArtilleryWorker(): boolean {
  return process.env.LOCAL_WORKER_ID !== undefined;
}

/**
 * Returns the platform of the load; undefined if it runs in this process. `run-aci` and `run-lambda` also create the plugins on the
 * user's machine, where there is no engine. `run-fargate` creates none there, and its containers run the load as `local`.
 */
export function remotePlatform(): string | undefined {
  const { platform = 'local' } = artillery().testInfo.flags;
  return platform === 'local' ? undefined : platform;
}

/**
 * Sets V8 flags for the worker threads, which Artillery creates after the plugins: a small young generation, because virtual users
 * live long and would fill up to 32 MB of it, and a large initial heap, because it would otherwise be collected many times while it
 * grows. The flags do not affect this thread.
 */
export function tuneWorkerHeaps(): void {
  setFlagsFromString('--max-semi-space-size=4');
  setFlagsFromString('--initial-old-space-size=128');
}

/**
 * Replaces the phases of the run. Artillery hands plugins a copy of the script, but keeps the live list of phases in
 * its test information, and divides the work among workers only after it has created the plugins (2.0.34).
 */
export function replacePhases(phases: unknown[]): void {
  const live = artillery().testInfo.metadata.testConfig.phases;
  live.splice(0, live.length, ...phases);
}

/** Disables Artillery's plugin `ensure`, which reads the variable when Artillery ends (2.0.34). */
export function disableThresholds(): void {
  process.env.ARTILLERY_DISABLE_ENSURE = 'true';
}
