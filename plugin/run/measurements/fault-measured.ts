import type { FaultKind } from '../../../protocol/wire/fault-kinds.ts';
import type { WorkerIdentity } from './worker-identity.ts';

export interface FaultMeasured {
  kind: FaultKind;
  /** The user's command, for the kind `command`. */
  command: string[] | undefined;
  /** Start on the run's clock. */
  atUs: number;
  /** Start in seconds of the sampler. */
  t: number;
  /** Duration of causing the fault; undefined if that failed. */
  tookMs: number | undefined;
  /** When all connections had reconnected or given up and all workers answered, or the time limit passed. */
  over: { atUs: number; t: number } | undefined;
  /** Parts of the deployment that were replaced as planned. */
  replaced: string[];
  /** Workers with unplanned restarts. */
  restarted: string[];
  workers: { before: WorkerIdentity[]; after: WorkerIdentity[] };
  perWorker: { before: Record<string, number>; after: Record<string, number> };
}
