/** What a worker counts and measures of itself, whatever kind of server it has. */
import { BatchWindow } from '../contract/batch-window.ts';
import { Guard } from '../guard.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { CollectionCount, EventLoopWindow } from './worker-stats.ts';

export interface Counts {
  /** Now. */
  connections(): number;
  /** Since the start. */
  accepted(): number;
  rooms(): number;
}

export class OwnFigures {
  readonly worker: string;
  readonly counts: Counts;
  readonly eventLoop = new EventLoopWindow();
  readonly collections = new CollectionCount();
  readonly batches = new BatchWindow();
  readonly metrics: Metrics;
  readonly guard: Guard;

  constructor(worker: string, counts: Counts) {
    this.worker = worker;
    this.counts = counts;
    this.metrics = createMetrics(counts, worker, this.eventLoop);
    this.guard = new Guard(this.metrics.countMalformed);
  }

  close(): void {
    for (const one of [this.eventLoop, this.collections, this.batches]) one.close();
  }
}
