import type { FaultKind } from '../../../protocol/wire/fault-kinds.ts';
import type { WorkerIdentity } from './worker-identity.ts';

export interface FaultMeasured {
  kind: FaultKind;
  /** The user's, if that is the fault. */
  command: string[] | undefined;
  /** On the run's clock, and on the sampler's time: just before it. */
  atUs: number;
  t: number;
  /** Until whatever caused it was done; undefined if it failed. */
  tookMs: number | undefined;
  /** When all connections were back or given up, and all workers answered; or time was up. */
  over: { atUs: number; t: number } | undefined;
  /** Parts of the deployment that it replaced, as planned. */
  replaced: string[];
  /** Workers that restarted meanwhile, and were not to, or not again. */
  restarted: string[];
  workers: { before: WorkerIdentity[]; after: WorkerIdentity[] };
  perWorker: { before: Record<string, number>; after: Record<string, number> };
}
