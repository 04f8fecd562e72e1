/** How busy a process or thread is itself: a generator that lags measures its own queue, not the server. */
import { readFileSync } from 'node:fs';
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { EventLoopHealth, FleetProcessHealth } from '../../protocol/link.ts';

/** The monitor is a timer of this interval and records how long it really took, so the delay is what goes beyond. */
const RESOLUTION_MS = 20;

/** Watches the event loop of the thread that makes it. */
export class EventLoopWatch {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #since: EventLoopUtilization = performance.eventLoopUtilization();
  #scheduled = readScheduled();

  constructor() {
    this.#delay.enable();
  }

  /** Of the time since the previous reading. */
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

/** This process as the fleet's parent sees it. */
export function processHealth(
  connections: number,
  watch: EventLoopWatch,
): Omit<FleetProcessHealth, 'index' | 'alive' | 'answers'> {
  const { user, system } = process.cpuUsage();
  return {
    pid: process.pid,
    connections,
    rssBytes: process.memoryUsage.rss(),
    cpuUs: user + system,
    eventLoop: watch.read(),
  };
}

interface Scheduled {
  ranNs: number;
  waitedNs: number;
}

/** Of the thread that asks: how long it has run, and how long it has been ready to run and had no CPU. */
function readScheduled(): Scheduled | undefined {
  try {
    const [ranNs, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ').map(Number);
    return { ranNs: ranNs as number, waitedNs: waitedNs as number };
  } catch {
    return undefined;
  }
}

/** Of what the thread wanted, not of the time that passed: a queue of a short burst is not averaged away. */
function waitShare(before: Scheduled | undefined, now: Scheduled | undefined): number | null {
  if (!before || !now) return null;
  const waitedNs = now.waitedNs - before.waitedNs;
  const wantedNs = waitedNs + now.ranNs - before.ranNs;
  return wantedNs > 0 ? waitedNs / wantedNs : 0;
}

function beyondResolutionMs(intervalNs: number): number {
  return Math.max(0, intervalNs / 1e6 - RESOLUTION_MS);
}
