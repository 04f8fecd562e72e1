/** What the studies of adapters show of each combination. */

import { integer, kilobytes, milliseconds } from '../../report/text/format.ts';
import { type Column, column, slope, tenths } from './columns.ts';

export const COLUMNS: Column[] = [
  slope('workerPss', 'Workers’ PSS'),
  column('Workers’ CPU per 1,000 connects, s', 'cpu.worker.rampSecondsPerThousandConnects', tenths(2)),
  column('Workers’ CPU per copy, µs', 'cpu.worker.broadcastMicrosecondsPerMessage', tenths(1)),
  column('Redis CPU per copy, µs', 'redis.cpuMicrosecondsPerCopy', tenths(2)),
  column('Redis received per copy, bytes', 'redis.inBytesPerCopy', tenths(1)),
  column('Redis sent per copy, bytes', 'redis.outBytesPerCopy', tenths(1)),
  {
    title: 'Busiest node’s share of it, %',
    value: (result) => (result.redis?.busiestNodeShare ? 100 * result.redis.busiestNodeShare : null),
    format: tenths(1),
  },
  column('Redis memory, KB', 'redis.usedMemoryBytes', kilobytes),
  column('Redis connections, KB', 'redis.clientBytes', kilobytes),
  column('Channels', 'redis.channels', integer),
  column('Sharded channels', 'redis.shardChannels', integer),
  column('Stream entries', 'redis.streamEntries', integer),
  column('Published for nobody', 'redis.forNobody', integer),
  column('One way p50, own worker, ms', 'latency.localMs.p50', milliseconds),
  column('One way p50, other workers, ms', 'latency.crossWorkerMs.p50', milliseconds),
  column('Coverage', 'delivery.coverage', tenths(4)),
];
