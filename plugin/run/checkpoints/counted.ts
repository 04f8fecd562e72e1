/** A worker, as it describes itself by its control port; or a server, as the admin UI has it. */
import type { WorkerStats } from '../../../protocol/events.ts';
import type { RunContext } from '../context.ts';

export type Counted = Pick<
  WorkerStats,
  'worker' | 'instance' | 'pid' | 'uptimeSeconds' | 'connections' | 'accepted'
> & {
  host: WorkerStats['host'] | string;
};

export function processOf({ host, pid, instance }: Counted): string {
  return instance ?? JSON.stringify([host, pid]);
}

/** Of each process once, however many control URLs lead to it: that has its own reason, WORKER_URLS_WRONG. */
export function connectionsOf(workers: Counted[]): number {
  const counts = new Map(workers.map((worker) => [processOf(worker), worker.connections]));
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

/**
 * Connections of the run itself that workers count: the probe's, the sentinel's, the publishers' and that to the admin UI.
 * Control connections are not among those that workers count.
 */
export function ownConnections({ probe, sentinel, publishers, adminUi }: RunContext): number {
  const single = [probe, sentinel, adminUi].filter((one) => one?.connected).length;
  return single + (publishers?.connected ?? 0);
}
