/** The sources of layers: processes, Redis, the workers' own statistics, the kernel. */

import type { CpuReading, WorkerResources, WorkerStats } from '../../protocol/events.ts';
import { readCgroup } from '../../protocol/machine/cgroup.ts';
import { type MemoryReading, readCpu, readMemory, readSlabBytes, readTcpBytes } from '../../protocol/machine/kernel.ts';
import { lowestLimit } from '../../protocol/machine/usable.ts';
import type { ControlClients } from './control/workers.ts';
import { type LayerPids, NotInRun, type ProcessMemory, processMemory } from './processes/memory.ts';
import type { ProcessReading } from './processes/proc.ts';
import type { PrometheusFigure } from './prometheus/figures.ts';
import type { PrometheusTargets } from './prometheus/targets.ts';
import type { RedisReader, RedisReading } from './redis/redis.ts';

/** The connections that a run reads from. Their owner closes them. */
export interface Readers {
  redis?: Pick<RedisReader, 'read' | 'failures' | 'lastFailure'>;
  workers?: Pick<ControlClients, 'stats' | 'resources'> | undefined;
  /** By layer. */
  prometheus?: Record<string, Pick<PrometheusTargets, 'read' | 'failures'>>;
}

/**
 * The sources for one reading. Each is read at most once, when the first layer needs it, and rejects with the reason why
 * its figures are missing.
 */
export interface Sources {
  /** Sums over the processes of a layer. */
  processes(layer: string): Promise<ProcessMemory>;
  redis(): Promise<RedisReading>;
  workers(): Promise<WorkerStats[]>;
  /** Asks all workers. */
  resources(): Promise<WorkerResources[]>;
  /** What the pages of metrics of a layer have. */
  prometheus(layer: string): Promise<{ figures: Partial<Record<PrometheusFigure, number>> }>;
  /** The generator's machine. */
  kernel: {
    tcpBytes(): Promise<number>;
    slabBytes(): Promise<number>;
    memory(): Promise<MemoryReading>;
    /** The control group with the lowest limit. */
    containerBytes(): Promise<number>;
    cpu(): Promise<CpuReading>;
  };
}

/** @param processes the readings of all layers */
export function openSources(
  pids: LayerPids,
  processes: Map<number, ProcessReading>,
  { redis, workers, prometheus = {} }: Readers,
): Sources {
  const pages = Object.fromEntries(Object.entries(prometheus).map(([layer, one]) => [layer, once(() => one.read())]));
  const controlled = () => {
    if (workers) return workers;
    throw new NotInRun('no control connection to the workers');
  };
  return {
    processes: async (layer) => processMemory(pids[layer], processes),
    redis: once(async () => {
      const reading = await redis?.read();
      if (reading) return reading;
      throw redis ? new Error(`Redis did not answer: ${redis.lastFailure}`) : new NotInRun('no Redis in this run');
    }),
    workers: once(async () => controlled().stats()),
    resources: once(async () => controlled().resources()),
    prometheus: async (layer) => {
      const read = pages[layer];
      if (read) return read();
      throw new NotInRun('no pages of metrics of it');
    },
    kernel: {
      tcpBytes: once(async () => readTcpBytes()),
      slabBytes: once(async () => readSlabBytes()),
      memory: once(async () => readMemory()),
      containerBytes: once(async () => {
        const limit = lowestLimit(readCgroup().memory, Number.POSITIVE_INFINITY);
        if (!limit) throw new NotInRun('no memory limit of a container');
        return limit.used;
      }),
      cpu: once(async () => readCpu()),
    },
  };
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= read();
    return answer;
  };
}
