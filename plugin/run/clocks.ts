/**
 * The workers' clocks against the run's. On one host there is one monotonic clock; the clocks of other hosts started with
 * them. So a worker's clock is read before and after the broadcasts, and a time that it reports in between is converted to
 * the run's clock along the straight line through both readings.
 */
import { SAME_CLOCK_US } from '../../protocol/clock-line.ts';
import type { ClockOffset, ControlClients } from '../samplers/index.ts';

export interface WorkerClock {
  begin: ClockOffset;
  end?: ClockOffset;
}

/**
 * @param here of each worker: whether it runs on this host
 * @returns in the workers' order
 */
export async function readClocks(control: Pick<ControlClients, 'time'>, here: boolean[]): Promise<ClockOffset[]> {
  const clocks = await control.time();
  return clocks.map((clock, index) => (here[index] && isOurs(clock) ? { ...clock, ...SAME } : clock));
}

/** A reading's error would only be noise in the latencies. */
const SAME = { offsetUs: 0, uncertaintyUs: 0 };
function isOurs({ offsetUs, uncertaintyUs }: ClockOffset): boolean {
  return Math.abs(offsetUs) <= uncertaintyUs + SAME_CLOCK_US;
}

/** @returns a time of the worker's clock on the run's clock, in microseconds */
export function toOurs(clock: WorkerClock | undefined, workerUs: number): number {
  return workerUs - offsetAt(clock, workerUs - (clock?.begin.offsetUs ?? 0));
}

/** @returns a time of the run's clock on the worker's clock */
export function toWorkers(clock: WorkerClock | undefined, ourUs: number): number {
  return ourUs + offsetAt(clock, ourUs);
}

/** How far the worker's clock is ahead at a time of the run's clock. */
export function offsetAt(clock: WorkerClock | undefined, ourUs: number): number {
  if (!clock) return 0;
  const { begin, end } = clock;
  if (!end || end.atUs === begin.atUs) return begin.offsetUs;
  return begin.offsetUs + ((end.offsetUs - begin.offsetUs) * (ourUs - begin.atUs)) / (end.atUs - begin.atUs);
}
