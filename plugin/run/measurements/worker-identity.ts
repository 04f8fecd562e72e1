/** By which process a worker is known, so that a new one is noticed. */
import type { WorkerStats } from '../../../protocol/events.ts';

export type WorkerIdentity = Pick<WorkerStats, 'worker' | 'pid' | 'instance'>;

export function identityOf({ worker, pid, instance }: WorkerStats): WorkerIdentity {
  return { worker, pid, instance };
}

export function isSameProcess(before: WorkerIdentity | undefined, now: WorkerIdentity): boolean {
  return before?.instance === now.instance;
}
