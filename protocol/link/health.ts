/** The load on the generator's own processes and threads. */

/** Of the time since the previous snapshot. Delay is how late timers fire. */
export interface EventLoopHealth {
  /** 0 to 1; at 1 the loop never waits, and everything it times includes its own queue. */
  utilization: number;
  delayP50Ms: number;
  delayP99Ms: number;
  delayMaxMs: number;
  /** Of the time that its thread was runnable, the share in which it waited for a CPU; null except on Linux. */
  cpuWaitShare: number | null;
}

export interface FleetProcessHealth {
  pid: number;
  /** Number of the process within its engine's fleet. */
  index: number;
  /** False once the process has died; its connections count as disconnected. */
  alive: boolean;
  /** False if it did not answer this time: it has died or stalled, and its figures are from earlier. */
  answers: boolean;
  connections: number;
  rssBytes: number;
  cpuUs: number;
  eventLoop: EventLoopHealth;
}
