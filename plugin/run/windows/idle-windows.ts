/** Measures CPU use while no messages are sent: before the first connection, and while connections are held. */

import { serverSchema } from '../../../protocol/result/server-schema.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import type { Settings } from '../../script/settings.ts';
import type { CpuWindow } from '../measurements/measured-windows.ts';
import type { Measurements } from '../measurements/measurements.ts';
import { abortablePause } from '../wait.ts';
import { cpuWindowSince, markWindowStart, type WindowContext } from './cpu-window.ts';

/** Number of parts of the hold. The spread between the parts is the noise of all CPU figures. */
const HOLD_PARTS = 10;

/**
 * Length of the short measurement windows before the first connection and after the messages, as a share of the hold.
 */
const BRIEF_SHARE = 0.2;
const BRIEF_MAX_SECONDS = 5;

interface Workers {
  control: { stats(): Promise<Pick<WorkerStats, 'server'>[]> };
}

type IdleContext = WindowContext & {
  config: Pick<Settings, 'hold'>;
  measurements: Measurements;
  signal: AbortSignal;
};

/** Measures CPU use while idle connections are held, over whole ping intervals if the hold is long enough. */
export async function measureIdleCpu(context: IdleContext & Workers): Promise<void> {
  const { config, measurements, signal } = context;
  const seconds = wholeIntervals(config.hold, await pingIntervalSeconds(context));
  await abortablePause((config.hold - seconds) * 1000, signal);
  await measureInParts(context, seconds, measurements.cpu.idle);
}

/**
 * Rounds a time down to whole ping intervals. Servers ping connections in the order in which the connections opened, so
 * pings are not evenly distributed.
 */
function wholeIntervals(seconds: number, intervalSeconds: number | null): number {
  if (intervalSeconds === null || intervalSeconds > seconds) return seconds;
  return Math.floor(seconds / intervalSeconds) * intervalSeconds;
}

/** Returns the workers' ping interval; null if they report none, or different intervals. */
async function pingIntervalSeconds({ control }: Workers): Promise<number | null> {
  const workers = await control.stats().catch(() => []);
  const reported = new Set(workers.map(({ server }) => serverSchema.safeParse(server).data?.options.pingInterval));
  const [intervalMs] = [...reported].map(Number);
  return reported.size === 1 && intervalMs !== undefined && intervalMs > 0 ? intervalMs / 1000 : null;
}

export async function measureUnloadedCpu(context: IdleContext): Promise<void> {
  await measureBriefly(context, context.measurements.cpu.unloaded);
}

/**
 * Measures CPU use while connections are held after their messages have ended. This is, for example, the CPU use of an
 * application's timers.
 */
export async function measureCpuWithoutMessages(context: IdleContext): Promise<void> {
  await measureBriefly(context, context.measurements.cpu.idle);
}

async function measureBriefly(context: IdleContext, parts: CpuWindow[]): Promise<void> {
  const seconds = Math.min(BRIEF_MAX_SECONDS, BRIEF_SHARE * context.config.hold);
  if (seconds > 0) await measureInParts(context, seconds, parts);
}

/** @param unitsOf returns the number of units in a part, such as messages; called at the end of the part */
export async function measureInParts(
  context: WindowContext & { signal: AbortSignal },
  seconds: number,
  parts: CpuWindow[],
  unitsOf: () => Promise<number> = async () => 0,
): Promise<void> {
  for (let part = 0; part < HOLD_PARTS && !context.signal.aborted; part++) {
    const begin = await markWindowStart(context);
    await abortablePause((seconds * 1000) / HOLD_PARTS, context.signal);
    parts.push(await cpuWindowSince(context, begin, await unitsOf()));
  }
}
