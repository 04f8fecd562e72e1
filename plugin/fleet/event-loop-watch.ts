/** The load on a process or thread of the generator: if its event loop lags, it measures its own queue, not the server. */
import { readFileSync } from 'node:fs';
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { EventLoopHealth } from '../../protocol/link/snapshot.ts';

/** The monitor records how long a timer of this interval really takes; the delay is the excess. */
const RESOLUTION_MS = 20;

/** Watches the event loop of the thread that creates it. */
export class EventLoopWatch {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #since: EventLoopUtilization = performance.eventLoopUtilization();
  #scheduled = readScheduled();

  constructor() {
    this.#delay.enable();
  }

  /** Covers the time since the previous call. */
  read(): EventLoopHealth {
    const now = performance.eventLoopUtilization();
    const scheduled = readScheduled();
    const { utilization } = performance.eventLoopUtilization(now, this.#since);
    const health = {
      utilization,
      delayP50Ms: beyondResolutionMs(this.#delay.percentile(50)),
      delayP99Ms: beyondResolutionMs(this.#delay.percentile(99)),
      delayMaxMs: beyondResolutionMs(this.#delay.max),
      cpuWaitShare: waitShare(this.#scheduled, scheduled),
    };
    this.#since = now;
    this.#scheduled = scheduled;
    this.#delay.reset();
    return health;
  }

  close(): void {
    this.#delay.disable();
  }
}

interface Scheduled {
  ranNs: number;
  waitedNs: number;
}

/** How long the calling thread has run, and how long it has been runnable without a CPU. */
function readScheduled(): Scheduled | undefined {
  try {
    const [ranNs, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ').map(Number);
    return { ranNs: ranNs as number, waitedNs: waitedNs as number };
  } catch {
    return undefined;
  }
}

/** The share of the CPU time that the thread needed, not of elapsed time, which would average short bursts away. */
function waitShare(before: Scheduled | undefined, now: Scheduled | undefined): number | null {
  if (!before || !now) return null;
  const waitedNs = now.waitedNs - before.waitedNs;
  const wantedNs = waitedNs + now.ranNs - before.ranNs;
  return wantedNs > 0 ? waitedNs / wantedNs : 0;
}

function beyondResolutionMs(intervalNs: number): number {
  return Math.max(0, intervalNs / 1e6 - RESOLUTION_MS);
}
