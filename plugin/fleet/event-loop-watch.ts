/** Load on a process or thread of the generator. If its event loop lags, it measures its own queue instead of the server. */
import { readFileSync } from 'node:fs';
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { EventLoopHealth } from '../../protocol/link/snapshot.ts';

/** Timer interval of the monitor. It records the real interval; the excess is the delay. */
const RESOLUTION_MS = 20;

export class EventLoopWatch {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #since: EventLoopUtilization = performance.eventLoopUtilization();
  #scheduled = readScheduled();

  constructor() {
    this.#delay.enable();
  }

  /** Returns the figures since the previous call. */
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

/** Returns how long the calling thread has run, and how long it waited for a CPU. */
function readScheduled(): Scheduled | undefined {
  try {
    const [ranNs, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ').map(Number);
    return { ranNs: ranNs as number, waitedNs: waitedNs as number };
  } catch {
    return undefined;
  }
}

/** Returns the share of waiting in the CPU time that the thread needed. A share of elapsed time would hide short bursts. */
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
 * Delay of an existing timer of a thread: shows the event loop's state in the live view at no cost. `event-loop-watch.ts`
 * measures the figures of the result more precisely.
 */
const WINDOW_MS = 1000;

export class TimerLag {
  readonly #intervalMs: number;
  #tickedAtMs = performance.now();
  #beganAtMs = this.#tickedAtMs;
  #worstMs = 0;
  #lastMs = 0;

  /** @param intervalMs interval of the timer */
  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Must be called by the timer. @returns its largest delay in the last whole second, in milliseconds */
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
