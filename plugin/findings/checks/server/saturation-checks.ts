/** Detects exhausted resources of the deployment: CPU of its workers, memory, output buffers of Redis. */

import { findingValues } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import { sharesMachine } from '../../../../report/figures/places.ts';
import { mean } from '../../../../report/statistics/statistics.ts';
import { decimalsText, megabytesText } from '../../../../report/text/format.ts';
import { defineCheck, type FindingCheck, type FindingDetail, type RunFigures } from '../../check.ts';

/** CPU use from which an event loop counts as busy, in percent of one core. Its work then has to wait. */
const BUSY_PERCENT = 90;
/**
 * Minimum CPU time that a worker must use during a broadcast, as a share of the time to its last receiver. With less
 * CPU time, the delay has another cause.
 */
const MIN_BROADCAST_SHARE = 0.5;
/**
 * Minimum time from the send of a broadcast to its last receiver, in milliseconds. Shorter broadcasts do not keep
 * workers busy for long.
 */
const MIN_BROADCAST_MS = 100;
const FULL_SHARE = 0.95;
/**
 * Redis's default limit for the output buffer of a subscriber, in bytes. Redis disconnects a subscriber that stays
 * above it for a minute, and immediately at four times as much.
 */
const REDIS_OUTPUT_BYTES = 8 * 2 ** 20;
/** Measurement window that a finding reports, by stage of the run. */
const WINDOWS: Record<string, string> = { ramp: 'ramp', hold: 'messages', broadcasts: 'broadcasts' };

export const saturationChecks: FindingCheck[] = [
  defineCheck('WORKERS_SATURATED', (result) => saturatedWorkers(result) ?? broadcastCpu(result)),
  defineCheck('MEMORY_FULL', (result) => {
    const { memory, environment } = result;
    const { systemUsed = 0, containerUsed = 0 } = memory.peakBytes;
    const { containerMemoryBytes = Number.POSITIVE_INFINITY } = environment.limits;
    const full = [
      { whose: 'machine', used: systemUsed, bytes: environment.memoryBytes },
      { whose: 'container', used: containerUsed, bytes: containerMemoryBytes },
    ].filter(({ used, bytes }) => sharesMachine(result) && used >= bytes * FULL_SHARE);
    return full.map(({ whose, used, bytes }) => ({
      message: `${megabytesText(used)} of ${megabytesText(bytes)} MB of the ${whose}’s memory were in use`,
      values: findingValues({ [`used memory of the ${whose}`]: used, [`memory of the ${whose}`]: bytes }, 'bytes'),
    }));
  }),
  defineCheck('REDIS_BEHIND', ({ samples }) => {
    const most = samples.reduce((most, sample) => Math.max(most, redisOutput(sample)), 0);
    if (most < REDIS_OUTPUT_BYTES) return undefined;
    return {
      message: `${megabytesText(most)} MB of Redis’s output waited for the workers`,
      values: findingValues({ 'waiting output': most }, 'bytes'),
    };
  }),
];

type Figures = Record<string, unknown>;

function redisOutput({ redisServer }: RunFigures['samples'][number]): number {
  return Number((redisServer as Figures | undefined)?.outputBufferBytes ?? 0);
}

/**
 * Returns the time since which Redis's output buffers were over the limit, in seconds on the time axis of the samples;
 * Infinity if they never were.
 */
export function redisWaitedSince({ samples }: Pick<RunFigures, 'samples'>): number {
  return samples.find((sample) => redisOutput(sample) >= REDIS_OUTPUT_BYTES)?.t ?? Number.POSITIVE_INFINITY;
}

/** Returns the mean CPU use of a layer in each stage of load, in percent of one core. */
function cpuByStage({ stages, samples, messages }: RunFigures, layer: string): { stage: string; percent: number }[] {
  return stages.flatMap(({ name: stage, t }, index) => {
    // If clients send no messages, the hold is not a stage of load.
    if (WINDOWS[stage] === undefined || (stage === 'hold' && !messages)) return [];
    const until = stages[index + 1]?.t ?? Number.POSITIVE_INFINITY;
    const inside = samples
      .filter((sample) => sample.t > t && sample.t <= until)
      .flatMap((sample) => (sample[layer] as Figures | undefined)?.cpuPercent ?? [])
      .map(Number);
    // The CPU use of a single sample may come from a garbage collection.
    return inside.length < 2 ? [] : [{ stage, percent: mean(inside) }];
  });
}

/**
 * Returns whether a layer of the deployment may have lacked CPU in the measurement window: its CPU use, plus a wait for
 * CPU as long as that of the generator's threads, fills a core. Also returns true if either is unknown.
 */
export function mayLackCpu(result: RunFigures, window: string): boolean {
  const waits = result.generator.flatMap((loop) => (loop.window === window ? (loop.cpuWaitShare ?? []) : []));
  const percents = result.memory.layers.flatMap(({ id, belongsTo }) =>
    cpuByStage(result, belongsTo === 'deployment' ? id : '').flatMap(({ stage, percent }) =>
      WINDOWS[stage] === window ? percent / (id === 'worker' ? workerCount(result) : 1) : [],
    ),
  );
  const needed = BUSY_PERCENT * (1 - Math.max(...waits));
  return waits.length === 0 || percents.length === 0 || Math.max(...percents) >= needed;
}

/** Returns the mean CPU use of all workers in a stage of load, in percent of one core. */
export function workerCpuInStage(result: RunFigures, stage: string): number | undefined {
  return cpuByStage(result, 'worker').find((one) => one.stage === stage)?.percent;
}

/** Returns the busiest stage of load in which a worker's event loop used a whole core. */
export function saturatedWorkers(result: RunFigures): FindingDetail | undefined {
  const workers = workerCount(result);
  const means = cpuByStage(result, 'worker').map(({ stage, percent }) => ({ stage, percent: percent / workers }));
  const [busiest] = means.toSorted((a, b) => b.percent - a.percent);
  if (!busiest || busiest.percent < BUSY_PERCENT) return undefined;
  const cores = workers === 1 ? 'its core' : `a core in each of ${workers} workers`;
  return {
    window: WINDOWS[busiest.stage],
    values: [...findingValues({ 'CPU of each worker': busiest.percent }, '%'), ...findingValues({ workers })],
    message: `worker CPU was at ${decimalsText(busiest.percent, 0)} % of ${cores} (stage \`${busiest.stage}\`)`,
  };
}

/** Detects workers that use a whole core during each broadcast, although they are idle on average. */
function broadcastCpu(result: RunFigures): FindingDetail | undefined {
  const microseconds = result.cpu.worker?.broadcastMicrosecondsPerMessage;
  const { delivery, latency } = result;
  const p50 = latency.completionMs?.p50 ?? 0;
  if (!microseconds || !delivery || delivery.broadcasts === 0 || p50 < MIN_BROADCAST_MS) return undefined;
  const workers = workerCount(result);
  const eachMs = (microseconds * delivery.expected) / delivery.broadcasts / workers / 1000;
  if (eachMs < p50 * MIN_BROADCAST_SHARE) return undefined;
  const who = workers === 1 ? 'the worker' : `each of ${workers} workers`;
  return {
    window: 'broadcasts',
    values: [
      ...findingValues(
        { 'CPU of a broadcast in each worker': eachMs, 'time to the last receiver (median)': p50 },
        'ms',
      ),
      ...findingValues({ workers }),
    ],
    message: `a broadcast keeps ${who} busy for ${decimalsText(eachMs, 0)} of the ${decimalsText(p50, 0)} ms until its last copy arrives`,
  };
}

function workerCount({ connections }: Pick<Result, 'connections'>): number {
  return Math.max(1, Object.keys(connections.perWorker).length);
}
