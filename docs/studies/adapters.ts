/** What the studies of adapters show of each combination. */

import { integer, kilobytes, milliseconds } from '../../report/text/format.ts';
import { at, type Column, slope, tenths } from './columns.ts';

export const COLUMNS: Column[] = [
  slope('workerPss', 'Workers’ PSS'),
  {
    title: 'Workers’ CPU per 1,000 connects, s',
    value: at('cpu.worker.rampSecondsPerThousandConnects'),
    format: tenths(2),
  },
  { title: 'Workers’ CPU per copy, µs', value: at('cpu.worker.broadcastMicrosecondsPerMessage'), format: tenths(1) },
  { title: 'Redis CPU per copy, µs', value: at('redis.cpuMicrosecondsPerCopy'), format: tenths(2) },
  { title: 'Redis received per copy, bytes', value: at('redis.inBytesPerCopy'), format: tenths(1) },
  { title: 'Redis sent per copy, bytes', value: at('redis.outBytesPerCopy'), format: tenths(1) },
  {
    title: 'Busiest node’s share of it, %',
    value: (result) => (result.redis?.busiestNodeShare ? 100 * result.redis.busiestNodeShare : null),
    format: tenths(1),
  },
  { title: 'Redis memory, KB', value: at('redis.usedMemoryBytes'), format: kilobytes },
  { title: 'Redis connections, KB', value: at('redis.clientBytes'), format: kilobytes },
  { title: 'Channels', value: at('redis.channels'), format: integer },
  { title: 'Sharded channels', value: at('redis.shardChannels'), format: integer },
  { title: 'Stream entries', value: at('redis.streamEntries'), format: integer },
  { title: 'Published for nobody', value: at('redis.forNobody'), format: integer },
  { title: 'One way p50, own worker, ms', value: at('latency.localMs.p50'), format: milliseconds },
  { title: 'One way p50, other workers, ms', value: at('latency.crossWorkerMs.p50'), format: milliseconds },
  { title: 'Coverage', value: at('delivery.coverage'), format: tenths(4) },
];
