import type { WorkerBatches } from '../../../protocol/events.ts';
import type { Repeated } from '../../script/load/flow.ts';

export interface MessagesMeasured {
  /** What the flows let their connections send. */
  readonly steps: Repeated[];
  /** Of the measured window. */
  seconds: number;
  /** In it, as the workers see them; empty where they do not. */
  workers: WorkerBatches[];
}
