import type { FaultKind } from '../../../protocol/wire/fault-kinds.ts';
import type { WorkerIdentity } from './worker-identity.ts';

export interface FaultMeasured {
  kind: FaultKind;
  /** The user's command; only for the fault kind `command`. */
  command: string[] | undefined;
  /** Start of the fault on the run's clock. */
  atUs: number;
  /** Start of the fault in seconds since the start of the sampler. */
  t: number;
  /** Time that it took to cause the fault; undefined if that failed. */
  tookMs: number | undefined;
  /**
   * End of the recovery: all connections had reconnected or given up and all workers answered, or the time limit
   * passed.
   */
  over: { atUs: number; t: number } | undefined;
  /** Processes of the deployment that were replaced as planned. */
  replaced: string[];
  /** Workers that restarted although this was not planned, or more often than planned. */
  restarted: string[];
  workers: { before: WorkerIdentity[]; after: WorkerIdentity[] };
  perWorker: { before: Record<string, number>; after: Record<string, number> };
}
