/** The Socket.IO workers. */
import type { WorkerStats } from '../../../protocol/events.ts';
import type { Figure } from './layer.ts';
import { processLayer } from './processes.ts';

export const worker = processLayer({
  id: 'worker',
  title: 'Workers',
  belongsTo: 'deployment',
  pss: { main: true, metric: 'memory.worker_pss.bytes_per_connection' },
  rss: { main: true, metric: 'memory.worker.bytes_per_connection' },
  rssElsewhere: total((stats) => stats.rssBytes),
  figures: [
    {
      id: 'workerHeapUsed',
      title: 'Workers V8 heap',
      main: true,
      metric: 'memory.worker_heap.bytes_per_connection',
      read: total((stats) => stats.heapUsedBytes),
    },
    { id: 'workerExternal', title: 'Workers external', read: total((stats) => stats.externalBytes) },
  ],
});

function total(bytesOf: (stats: WorkerStats) => number): Figure['read'] {
  return async ({ workers }) => (await workers()).reduce((sum, stats) => sum + bytesOf(stats), 0);
}
