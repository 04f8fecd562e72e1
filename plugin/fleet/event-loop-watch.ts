/**
 * Measures event loop and CPU of a process or thread of the load generator. If its event loop lags, the run measures
 * the generator's own queue instead of the server.
 */
import { readFileSync } from 'node:fs';
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { EventLoopHealth } from '../../protocol/link/snapshot.ts';

/**
 * Interval in milliseconds of the timer with which Node's monitor measures the event loop. Time beyond the interval is
 * the event loop's delay.
 */
const RESOLUTION_MS = 20;

export class EventLoopWatch {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #since: EventLoopUtilization = performance.eventLoopUtilization();
  #scheduled = readScheduled();

  constructor() {
    this.#delay.enable();
  }

  /**
   * Returns utilization and delay of the event loop, and how long the thread waited for a CPU, since the previous call.
   */
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

/** Returns how long the calling thread has used a CPU, and how long it has waited for one. */
function readScheduled(): Scheduled | undefined {
  try {
    const [ranNs, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ').map(Number);
    return { ranNs: ranNs as number, waitedNs: waitedNs as number };
  } catch {
    return undefined;
  }
}

/**
 * Returns the share of the thread's runnable time in which it waited for a CPU. A share of elapsed time would hide
 * short bursts.
 */
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
 * Delay of the event loop for the live view. It is measured with a timer that the thread runs anyway, so it costs
 * nothing. Results use the more precise values of Node's event loop monitor.
 */
const WINDOW_MS = 1000;

export class TimerLag {
  readonly #intervalMs: number;
  #tickedAtMs = performance.now();
  #beganAtMs = this.#tickedAtMs;
  #worstMs = 0;
  #lastMs = 0;

  /**
   * Measures the delay of a timer.
   * @param intervalMs interval of the timer, which must call `tick`
   */
  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /**
   * Must be called by the timer.
   * @returns the timer's largest delay in the last whole second, in milliseconds
   */
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
