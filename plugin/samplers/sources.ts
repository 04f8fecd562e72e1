/** The sources of layers: processes, Redis, the workers' own statistics, the kernel. */

import { onlyOnce } from '../../protocol/helpers/only-once.ts';
import { readCgroup } from '../../protocol/machine/cgroup.ts';
import { readCpu, readMemory, readSlabBytes, readTcpBytes, readTcpSockets } from '../../protocol/machine/kernel.ts';
import { lowestLimit } from '../../protocol/machine/usable.ts';
import { Absent, describeAbsence, NotInRun } from './absence.ts';
import type { ControlClients } from './control/workers.ts';
import { type LayerPids, openFilesOf, pagesOf, processMemory } from './processes/memory.ts';
import type { ProcessReading } from './processes/proc.ts';
import type { PrometheusTargets } from './prometheus/targets.ts';
import type { RedisReader } from './redis/redis.ts';

/** The connections that a run reads from. Their owner closes them. */
export interface Readers {
  redis?: Pick<RedisReader, 'read' | 'failures' | 'absence' | 'name'>;
  workers?: Pick<ControlClients, 'stats' | 'resources'> | undefined;
  /** By layer. */
  prometheus?: Record<string, Pick<PrometheusTargets, 'read' | 'failures'>>;
}

export type Sources = ReturnType<typeof openSources>;

/**
 * The sources for one reading. Each is read at most once, when the first layer needs it, and rejects with the reason why
 * its figures are missing.
 * @param processes the readings of all layers
 */
export function openSources(
  pids: LayerPids,
  processes: Map<number, ProcessReading>,
  { redis, workers, prometheus = {} }: Readers,
) {
  const pages = Object.fromEntries(
    Object.entries(prometheus).map(([layer, one]) => [layer, onlyOnce(() => one.read())]),
  );
  const controlled = () => {
    if (workers) return workers;
    throw new NotInRun('no control connection to the workers');
  };
  return {
    /** Sums over the processes of a layer. */
    processes: async (layer: string) => processMemory(pids[layer], processes),
    /** Memory of the processes of all layers that is no copy of a file. */
    pages: onlyOnce(async () => pagesOf(pids, processes)),
    openFiles: async (layer: string) => openFilesOf(pids[layer]),
    redis: onlyOnce(async () => {
      const reading = await redis?.read();
      if (reading) return reading;
      if (!redis?.absence) throw new NotInRun('no Redis in this run');
      throw new Absent(redis.absence.reason, describeAbsence(redis.name, redis.absence));
    }),
    workers: onlyOnce(async () => controlled().stats()),
    resources: onlyOnce(async () => controlled().resources()),
    /** What the pages of metrics of a layer have. */
    prometheus: async (layer: string) => {
      const read = pages[layer];
      if (read) return read();
      throw new NotInRun('no pages of metrics of it');
    },
    /** The generator's machine. */
    kernel: {
      sockets: onlyOnce(async () => readTcpSockets()),
      tcpBytes: onlyOnce(async () => readTcpBytes()),
      slabBytes: onlyOnce(async () => readSlabBytes()),
      memory: onlyOnce(async () => readMemory()),
      /** The control group with the lowest limit. */
      containerBytes: onlyOnce(async () => {
        const limit = lowestLimit(readCgroup().memory, Number.POSITIVE_INFINITY);
        if (limit?.used === undefined)
          throw new Absent('gone', 'the control group no longer reports its memory limit and its use');
        return limit.used;
      }),
      cpu: onlyOnce(async () => readCpu()),
    },
  };
}
