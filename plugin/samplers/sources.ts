/** What layers are read from: processes, Redis, the workers' own statistics, the kernel. */
import type { WorkerStats } from '../../protocol/events.ts';
import { type CpuReading, type MemoryReading, readCpu, readMemory, readSlabBytes, readTcpBytes } from './kernel.ts';
import type { ProcessReading } from './proc.ts';
import { type LayerPids, type ProcessMemory, processMemory } from './process-memory.ts';
import type { RedisReader, RedisReading } from './redis.ts';
import type { ControlClients } from './workers.ts';

/** The connections that a run reads through. Their owner closes them. */
export interface Readers {
  redis?: Pick<RedisReader, 'read' | 'failures' | 'lastFailure'>;
  workers?: Pick<ControlClients, 'stats'>;
}

/**
 * Of one moment. Each source is asked once, when the first layer wants it, and not at all when none does. It rejects with
 * the reason why nothing is known.
 */
export interface Sources {
  /** Sums over the processes of a layer. */
  processes(layer: string): Promise<ProcessMemory>;
  redis(): Promise<RedisReading>;
  workers(): Promise<WorkerStats[]>;
  /** Of the generator's machine. */
  kernel: {
    tcpBytes(): Promise<number>;
    slabBytes(): Promise<number>;
    memory(): Promise<MemoryReading>;
    cpu(): Promise<CpuReading>;
  };
}

/** @param processes of all layers, under way */
export function openSources(
  pids: LayerPids,
  processes: Promise<Map<number, ProcessReading>>,
  { redis, workers }: Readers,
): Sources {
  return {
    processes: async (layer) => processMemory(pids[layer], await processes),
    redis: once(async () => {
      const reading = await redis?.read();
      if (reading) return reading;
      throw new Error(redis ? `Redis did not answer: ${redis.lastFailure}` : 'no Redis in this run');
    }),
    workers: once(async () => {
      if (workers) return workers.stats();
      throw new Error('no control connection to the workers');
    }),
    kernel: {
      tcpBytes: once(async () => readTcpBytes()),
      slabBytes: once(async () => readSlabBytes()),
      memory: once(async () => readMemory()),
      cpu: once(async () => readCpu()),
    },
  };
}

function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask();
    return answer;
  };
}
