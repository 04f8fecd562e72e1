/**
 * Measures a setting of the server: memory at several plateaus, each after forced collections, and CPU of the ramps and
 * of a window with broadcasts. Memory per connection is the slope of a line through the plateaus.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkerStats } from '../../protocol/wire/events.ts';
import { fitLine } from '../../report/statistics/statistics.ts';
import { startFleet } from '../client/generators.ts';
import type { StartedGenerator } from '../client/measured-generator.ts';
import { waitUntil } from '../wait-for-message.ts';
import { type BenchBroadcastPlan, type BenchWorker, PING_INTERVAL_MS, startWorker } from '../worker.ts';

export interface ServerVariant {
  environment: Record<string, string>;
  flags: string[];
}

export type MeasuredServer = Awaited<ReturnType<typeof measureServer>>;
type Plateau = Pick<WorkerStats, 'connections' | 'rssBytes' | 'heapUsedBytes'>;

const PLATEAUS = 4;
const RATE_PER_SEC = 500;
/** Number of connections that are opened and closed before the measurement, to trigger one-time allocations. */
const WARM_UP = 500;
const READY_MS = 1000;
const JOIN_MS = 500;
const SETTLE_MS = 2000;
const TIMEOUT_MS = 60_000;
/** Number of collections. One collection can leave work for the next, such as the release of empty pages. */
const COLLECTIONS = 3;

export async function measureServer(
  setting: ServerVariant,
  connections: number,
  plan: BenchBroadcastPlan,
  signal: AbortSignal,
) {
  const worker = await startWorker(setting.environment, setting.flags);
  const held: StartedGenerator[] = [];
  try {
    await ramp(worker, WARM_UP, held, signal);
    await delay(SETTLE_MS, undefined, { signal });
    await closeAll(held);
    await waitUntil(
      async () => (await worker.stats()).connections === 0,
      TIMEOUT_MS,
      'the warm-up connections to close',
      signal,
    );

    const plateaus = [await plateau(worker, signal)];
    let rampCpuUs = 0;
    for (let step = 0; step < PLATEAUS; step++) {
      rampCpuUs += await ramp(worker, connections / PLATEAUS, held, signal);
      plateaus.push(await plateau(worker, signal));
    }
    const { idleUs, broadcastsUs } = await windowsCpuUs(worker, plan, connections, signal);
    const rss = lineOf(plateaus, 'rssBytes');
    return {
      rssPerConnectionBytes: rss.slope,
      heapPerConnectionBytes: lineOf(plateaus, 'heapUsedBytes').slope,
      rssR2: rss.r2,
      cpuPerConnectionUs: rampCpuUs / connections,
      cpuPerMessageUs: (broadcastsUs - idleUs) / (plan.count * connections),
      /** CPU time of an idle connection from one ping to the next. */
      cpuPerPingUs: idleUs / connections,
      plateaus,
    };
  } finally {
    await closeAll(held);
    await worker.close();
  }
}

/**
 * Opens more connections.
 * @returns the worker's CPU time for them
 */
async function ramp(
  worker: BenchWorker,
  connections: number,
  held: StartedGenerator[],
  signal: AbortSignal,
): Promise<number> {
  const started = await startFleet({ url: worker.url, connections, ratePerSec: RATE_PER_SEC });
  held.push(started);
  await delay(READY_MS, undefined, { signal });
  const before = await worker.stats();
  await started.ramp();
  const wanted = before.connections + connections;
  const isFull = async () => (await worker.stats()).connections >= wanted;
  await waitUntil(isFull, TIMEOUT_MS, `${wanted} connections`, signal);
  await delay(JOIN_MS, undefined, { signal });
  return cpuUs(await worker.stats()) - cpuUs(before);
}

async function plateau(worker: BenchWorker, signal: AbortSignal): Promise<Plateau> {
  await delay(SETTLE_MS, undefined, { signal });
  for (let collection = 0; collection < COLLECTIONS; collection++) await worker.gc();
  const { connections, rssBytes, heapUsedBytes } = await worker.stats();
  return { connections, rssBytes, heapUsedBytes };
}

/**
 * Measures the CPU of an idle window, and of an equally long window with broadcasts. Each connection is pinged once in
 * both windows.
 */
async function windowsCpuUs(
  worker: BenchWorker,
  plan: BenchBroadcastPlan,
  connections: number,
  signal: AbortSignal,
): Promise<{ idleUs: number; broadcastsUs: number }> {
  const atStart = cpuUs(await worker.stats());
  await delay(PING_INTERVAL_MS, undefined, { signal });
  const afterIdle = cpuUs(await worker.stats());
  const startMs = performance.now();
  await worker.publish(plan, connections, signal);
  await delay(Math.max(0, startMs + PING_INTERVAL_MS - performance.now()), undefined, { signal });
  return { idleUs: afterIdle - atStart, broadcastsUs: cpuUs(await worker.stats()) - afterIdle };
}

function lineOf(plateaus: Plateau[], layer: 'rssBytes' | 'heapUsedBytes'): { slope: number; r2: number } {
  const line = fitLine(plateaus.map((plateau) => ({ x: plateau.connections, y: plateau[layer] })));
  if (line === null) throw new Error('the plateaus do not differ');
  return line;
}

function cpuUs({ cpuUserUs, cpuSystemUs }: WorkerStats): number {
  return cpuUserUs + cpuSystemUs;
}

async function closeAll(held: StartedGenerator[]): Promise<void> {
  await Promise.all(held.splice(0).map((started) => started.close()));
}
