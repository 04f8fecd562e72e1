import type { WorkerBatches } from '../../../protocol/events.ts';
import type { Repeated } from '../../script/load/flow.ts';

export interface MessagesMeasured {
  /** What the flows let their connections send. */
  readonly steps: Repeated[];
  /** Length of the measured window. */
  seconds: number;
  /** At its begin, and at the end of each of its parts. */
  unanswered: number[];
  /** In it, as the workers see them; empty where they do not. */
  workers: WorkerBatches[];
}
