/** The only place that touches Artillery's global object and its untyped events. */

import { setFlagsFromString } from 'node:v8';

export interface ArtilleryFlags {
  quiet?: boolean;
  output?: string;
}

interface ShutdownOptions {
  earlyStop?: boolean;
  exitCode?: number;
}

interface ArtilleryGlobal {
  testRunId: string;
  version: string;
  suggestedExitCode: number;
  testInfo: { flags: ArtilleryFlags; metadata: { testConfig: { phases: unknown[] } } };
  globalEvents: {
    prependListener(event: string, listener: () => void): void;
    on(event: 'checks', listener: (checks: Check[]) => void): void;
  };
  log(text: string): void;
  ext(extension: { ext: string; method: (event: ShutdownOptions) => Promise<void> }): void;
  shutdown(options: ShutdownOptions): Promise<void>;
}

/** What the plugin `ensure` made of one threshold or condition. */
export interface Check {
  /** As an expression; the result is 1 where it holds. */
  original: string;
  result: unknown;
  strict: boolean;
}

/** Metrics of a period or of the whole run; what is put in here shows on Artillery's console and in its report. */
export interface ArtilleryStats {
  counters: Record<string, number>;
  rates: Record<string, number>;
  summaries: Record<string, Record<string, number>>;
}

export interface ArtilleryEvents {
  on(event: 'phaseStarted' | 'phaseCompleted', listener: (phase: { index: number }) => void): void;
  on(event: 'stats' | 'done', listener: (stats: ArtilleryStats) => void): void;
}

export function artillery(): ArtilleryGlobal {
  return (globalThis as unknown as { artillery: ArtilleryGlobal }).artillery;
}

/** Plugins are also instantiated in every worker thread. */
export function isArtilleryWorker(): boolean {
  return process.env.LOCAL_WORKER_ID !== undefined;
}

/**
 * Artillery makes its worker threads after the plugins and without limits. The nursery of each then grows to 32 MB while
 * the first thousands of virtual users, who live long, pass through it; and the heap is collected again and again on its
 * way to the size that a load needs. Sets what threads made from now on get; this thread keeps its own.
 */
export function tuneWorkerHeaps(): void {
  setFlagsFromString('--max-semi-space-size=4');
  setFlagsFromString('--initial-old-space-size=128');
}

/**
 * Replaces the phases of the run. Artillery hands plugins a copy of the script, but keeps the live list of phases in
 * its test information, and divides the work among workers only after the plugins are built (2.0.34).
 */
export function replacePhases(phases: unknown[]): void {
  const live = artillery().testInfo.metadata.testConfig.phases;
  live.splice(0, live.length, ...phases);
}
