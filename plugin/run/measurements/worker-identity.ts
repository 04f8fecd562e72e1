/** By which process a worker is known, so that a new one is noticed. */
import type { WorkerStats } from '../../../protocol/events.ts';

export interface WorkerIdentity {
  worker: string;
  pid: number;
  /** Of versions that have one. */
  instance?: string;
}

export function identityOf({ worker, pid, instance }: WorkerStats): WorkerIdentity {
  return { worker, pid, ...(instance !== undefined && { instance }) };
}

/** In containers, a process that starts anew has the same id again. */
export function isSameProcess(before: WorkerIdentity | undefined, now: WorkerIdentity): boolean {
  return before?.pid === now.pid && before.instance === now.instance;
}
