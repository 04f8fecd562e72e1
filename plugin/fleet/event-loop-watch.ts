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

/**
 * Lateness of an existing timer of a thread: shows its event loop to the live view at no cost. `event-loop-watch.ts` measures the figures
 * of the result more precisely.
 */
const WINDOW_MS = 1000;

export class TimerLag {
  readonly #intervalMs: number;
  #tickedAtMs = performance.now();
  #beganAtMs = this.#tickedAtMs;
  #worstMs = 0;
  #lastMs = 0;

  /** @param intervalMs of the timer */
  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** To be called by the timer. @returns how late it was at most in the last whole second, in milliseconds */
  tick(): number {
    const nowMs = performance.now();
    this.#worstMs = Math.max(this.#worstMs, nowMs - this.#tickedAtMs - this.#intervalMs);
    this.#tickedAtMs = nowMs;
    if (nowMs - this.#beganAtMs >= WINDOW_MS) {
      this.#lastMs = Math.round(this.#worstMs);
      this.#worstMs = 0;
      this.#beganAtMs = nowMs;
    }
    return this.#lastMs;
  }
}
