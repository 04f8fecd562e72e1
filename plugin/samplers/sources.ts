/** The sources of layers: processes, Redis, the workers' own statistics, the kernel. */

import type { WorkerResources, WorkerStats } from '../../protocol/events.ts';
import { readCgroup } from '../../protocol/machine/cgroup.ts';
import {
  type CpuReading,
  type MemoryReading,
  readCpu,
  readMemory,
  readSlabBytes,
  readTcpBytes,
} from '../../protocol/machine/kernel.ts';
import { lowestLimit } from '../../protocol/machine/usable.ts';
import type { ControlClients } from './control/workers.ts';
import type { Observed, ObserverClients } from './observers.ts';
import { type LayerPids, NotInRun, type ProcessMemory, processMemory } from './processes/memory.ts';
import type { ProcessReading } from './processes/proc.ts';
import type { PrometheusReading } from './prometheus/prometheus.ts';
import type { PrometheusTargets } from './prometheus/targets.ts';
import type { RedisReader, RedisReading } from './redis/redis.ts';

/** The connections that a run reads from. Their owner closes them. */
export interface Readers {
  redis?: Pick<RedisReader, 'read' | 'failures' | 'lastFailure'>;
  workers?: Pick<ControlClients, 'stats' | 'resources' | 'size'> | undefined;
  prometheus?: Pick<PrometheusTargets, 'read' | 'failures'> | undefined;
  observers?: Pick<ObserverClients, 'read'> | undefined;
}

/**
 * The sources for one reading. Each is read at most once, when the first layer needs it, and rejects with the reason why
 * its figures are missing.
 */
export interface Sources {
  /** Sums over the processes of a layer. */
  processes(layer: string): Promise<ProcessMemory>;
  /** Of a layer on other hosts. */
  observed(layer: string): Promise<Observed>;
  redis(): Promise<RedisReading>;
  workers(): Promise<WorkerStats[]>;
  /** Of all workers. */
  resources(): Promise<WorkerResources[]>;
  prometheus(): Promise<PrometheusReading>;
  /** Of the generator's machine. */
  kernel: {
    tcpBytes(): Promise<number>;
    slabBytes(): Promise<number>;
    memory(): Promise<MemoryReading>;
    /** Of the control group with the lowest limit. */
    containerBytes(): Promise<number>;
    cpu(): Promise<CpuReading>;
  };
}

/**
 * @param processes the readings of all layers, which can still be pending
 * @param pss observers read the proportional set size, too
 */
export function openSources(
  pids: LayerPids,
  processes: Promise<Map<number, ProcessReading>>,
  { redis, workers, prometheus, observers }: Readers,
  pss = true,
): Sources {
  const observed = new Map<string, Promise<Observed>>();
  return {
    processes: async (layer) => processMemory(pids[layer], await processes),
    observed: (layer) => {
      const reading = observed.get(layer) ?? readObserved(observers, layer, pss);
      observed.set(layer, reading);
      return reading;
    },
    redis: once(async () => {
      const reading = await redis?.read();
      if (reading) return reading;
      throw redis ? new Error(`Redis did not answer: ${redis.lastFailure}`) : new NotInRun('no Redis in this run');
    }),
    workers: once(async () => {
      if (workers) return workers.stats();
      throw new NotInRun('no control connection to the workers');
    }),
    resources: once(async () => {
      if (!workers) throw new NotInRun('no control connection to the workers');
      const resources = await workers.resources();
      if (resources.length === workers.size) return resources;
      throw new Error('not all workers tell what they have: use the same version on both sides');
    }),
    prometheus: once(async () => {
      if (prometheus) return prometheus.read();
      throw new NotInRun('no `workers.prometheus`');
    }),
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

async function readObserved(observers: Readers['observers'], layer: string, pss: boolean): Promise<Observed> {
  if (!observers) throw new NotInRun('no observer of it');
  return observers.read(layer, pss);
}
