/** Latency against connections, if the run had broadcasts with fewer of them, too. */
import { summaryMs } from '../../../protocol/histogram.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { merged, sum, summaryOfEach } from '../sums.ts';
import { batchRows } from './delivery.ts';
import { reachedBroadcasts } from './intervals.ts';

type Level = Result['latency']['byConnections'][number];

/** From the most connections to the fewest. */
export function latencyByConnections(measurements: Measurements): Level[] {
  return measurements.byConnections.map(({ connections, sent, frozen }) => {
    const batches = batchRows({ ...measurements, sent, frozen });
    const reached = reachedBroadcasts(frozen);
    const copies = merged(frozen.flatMap(({ latencyUs }) => [latencyUs.local, latencyUs.cross]));
    return {
      connections,
      broadcasts: sent.length,
      expected: sum(batches.map(({ expected }) => expected)),
      received: sum(batches.map(({ received }) => received)),
      lost: sum(batches.map(({ lostConnected, lostDisconnected }) => lostConnected + lostDisconnected)),
      oneWayMs: summaryMs(copies, reached.length),
      completionMs: summaryOfEach(reached.map(({ lastUs }) => lastUs)),
    };
  });
}
