/** The load on the generator's own processes and threads. */
import { z } from 'zod';
import { count, index } from './bounded-schemas.ts';

/** Event loop since the previous snapshot. The delay is the lateness of timers. */
export const eventLoopHealthSchema = z.object({
  /** 0 to 1; at 1, the loop is always busy, and its measured times include its own queue. */
  utilization: count,
  delayP50Ms: count,
  delayP99Ms: count,
  delayMaxMs: count,
  /** Share of the thread's runnable time in which it waited for a CPU; null except on Linux. */
  cpuWaitShare: count.nullable(),
});
export type EventLoopHealth = z.infer<typeof eventLoopHealthSchema>;

export const fleetProcessHealthSchema = z.object({
  pid: z.int().positive(),
  /** Number of the process within its engine's fleet. */
  index,
  /** False once the process has died; its connections count as disconnected. */
  alive: z.boolean(),
  /** False if it did not answer this time, because it has died or stalled; its figures are then outdated. */
  answers: z.boolean(),
  connections: count,
  eventLoop: eventLoopHealthSchema,
});
