/** Counters and measurements of a worker's own process, for a Socket.IO or a plain server. */
import { BatchWindow } from '../contract/batch-window.ts';
import { Guard } from '../guard.ts';
import { createMetrics } from './metrics.ts';
import { CollectionCount, EventLoopWindow } from './worker-stats.ts';

interface Counts {
  connections(): number;
  /** Connections accepted since the start. */
  accepted(): number;
  rooms(): number;
  namespaces?(): number;
}

export type OwnFigures = ReturnType<typeof ownFigures>;

export function ownFigures(worker: string, counts: Counts) {
  const eventLoop = new EventLoopWindow();
  const [collections, batches] = [new CollectionCount(), new BatchWindow()];
  const metrics = createMetrics(counts, worker, eventLoop);
  const guard = new Guard({ malformed: metrics.countMalformed, closed: metrics.countClosed });
  const close = () => {
    for (const figure of [eventLoop, collections, batches]) figure.close();
  };
  return { worker, counts, eventLoop, collections, batches, metrics, guard, close };
}
