/** The sources of layers: processes, Redis, the workers' own statistics, the kernel. */
import type { WorkerStats } from '../../protocol/events.ts';
import { type CpuReading, type MemoryReading, readCpu, readMemory, readSlabBytes, readTcpBytes } from './kernel.ts';
import type { ProcessReading } from './proc.ts';
import { type LayerPids, NotInRun, type ProcessMemory, processMemory } from './process-memory.ts';
import type { PrometheusReading } from './prometheus.ts';
import type { PrometheusTargets } from './prometheus-targets.ts';
import type { RedisReader, RedisReading } from './redis.ts';
import type { ControlClients } from './workers.ts';

/** The connections that a run reads from. Their owner closes them. */
export interface Readers {
  redis?: Pick<RedisReader, 'read' | 'failures' | 'lastFailure'>;
  workers?: Pick<ControlClients, 'stats'> | undefined;
  prometheus?: Pick<PrometheusTargets, 'read' | 'failures'> | undefined;
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
  prometheus(): Promise<PrometheusReading>;
  /** Of the generator's machine. */
  kernel: {
    tcpBytes(): Promise<number>;
    slabBytes(): Promise<number>;
    memory(): Promise<MemoryReading>;
    cpu(): Promise<CpuReading>;
  };
}

/** @param processes the readings of all layers, which can still be pending */
export function openSources(
  pids: LayerPids,
  processes: Promise<Map<number, ProcessReading>>,
  { redis, workers, prometheus }: Readers,
): Sources {
  return {
    processes: async (layer) => processMemory(pids[layer], await processes),
    redis: once(async () => {
      const reading = await redis?.read();
      if (reading) return reading;
      throw redis ? new Error(`Redis did not answer: ${redis.lastFailure}`) : new NotInRun('no Redis in this run');
    }),
    workers: once(async () => {
      if (workers) return workers.stats();
      throw new NotInRun('no control connection to the workers');
    }),
    prometheus: once(async () => {
      if (prometheus) return prometheus.read();
      throw new NotInRun('no `workers.prometheus`');
    }),
    kernel: {
      tcpBytes: once(async () => readTcpBytes()),
      slabBytes: once(async () => readSlabBytes()),
      memory: once(async () => readMemory()),
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
