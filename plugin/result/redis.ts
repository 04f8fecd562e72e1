/** What the broadcasts meant for the adapter's Redis. */
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements.ts';

/** @param received copies by clients, by the ledger; undefined without one */
export function redisFigures({ redis, sent }: Measurements, received: number | undefined): Result['redis'] {
  if (!redis) return null;
  const perCopy = (bytes: number) => (received ? bytes / received : null);
  return {
    ...redis,
    inBytesPerCopy: perCopy(redis.inBytes),
    outBytesPerCopy: perCopy(redis.outBytes),
    forNobody: sent.some(({ otherWorkers }) => otherWorkers === undefined)
      ? null
      : sent.filter(({ otherWorkers }) => otherWorkers === 0).length,
  };
}
