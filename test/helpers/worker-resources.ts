import type { WorkerResources } from '../../protocol/wire/events.ts';

/** Returns the resources of a worker without limits, on its own machine with 8 cores and 16 GiB. */
export function workerResources(changes: Partial<WorkerResources> = {}): WorkerResources {
  return {
    worker: 'w0',
    pssBytes: 100_000_000,
    openFiles: 30,
    openFilesLimit: 20_000,
    cgroup: { cpu: [], memory: [], tasks: [] },
    usableCores: 8,
    machine: {
      hostname: 'app-1',
      kernel: 'kernel-1',
      model: 'AMD EPYC',
      system: 'Linux 6.18',
      cores: 8,
      memoryBytes: 16 * 2 ** 30,
      usedBytes: 2 ** 30,
      tcpBytes: 4096,
      cpu: { busyUs: 1e6, idleUs: 9e6, stealUs: 0, interruptUs: 0 },
    },
    ...changes,
  };
}
