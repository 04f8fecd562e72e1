/** The only place in the plugin that touches Artillery's global object and its untyped events. */
import { setFlagsFromString } from 'node:v8';
import type { ArtilleryStats, Check } from '../result/artillery-stats.ts';

export interface ShutdownOptions {
  earlyStop?: boolean;
  exitCode?: number;
}

interface ArtilleryGlobal {
  testRunId: string;
  version: string;
  /** Undefined or 0 where nothing has set it. */
  suggestedExitCode?: number;
  testInfo: {
    /** `platform`: `local`, or where the load runs, such as `aws:lambda` or `az:aci`. */
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
  /** Only other plugins hear it: Artillery's console and report have emitters of their own. */
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
 * `run-aci` and `run-lambda` create the plugins on the user's machine, too, where there is no engine. `run-fargate`
 * creates none there, and its containers run the load as `local`.
 * @returns where the load runs, if that is not in this process
 */
export function remotePlatform(): string | undefined {
  const { platform = 'local' } = artillery().testInfo.flags;
  return platform === 'local' ? undefined : platform;
}

/**
 * Artillery creates its worker threads after the plugins and without heap limits. The young generation of each then grows
 * to 32 MB while the first thousands of virtual users, which live long, pass through it, and the heap is collected many
 * times until it has the size that the load needs. The flags apply to threads created from now on, not to this one.
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

/** In this process, its plugin `ensure` evaluates nothing: it looks for the variable when Artillery ends (2.0.34). */
export function disableThresholds(): void {
  process.env.ARTILLERY_DISABLE_ENSURE = 'true';
}
