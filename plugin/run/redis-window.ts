/**
 * What the broadcasts send through the adapter's Redis. The workers count the members before each broadcast, through the same
 * Redis: what such a count costs is measured before, and taken off.
 */
import type { RedisTraffic } from '../samplers/redis.ts';
import type { RunContext } from './context.ts';
import type { RedisMeasured } from './measurements.ts';

/** Of each worker. */
const COUNTS = 5;

export interface RedisMark {
  begin: RedisTraffic;
  /** Of one count of the members. */
  countBytes: { in: number; out: number };
}

/** To be called just before the broadcasts. @returns undefined if there is no Redis, or it does not answer */
export async function markRedis({ redis, control, measurements }: RunContext): Promise<RedisMark | undefined> {
  const before = await redis?.traffic();
  if (!redis || !before) return undefined;
  const workers = measurements.workersAtStart.length;
  try {
    for (let count = 0; count < COUNTS * workers; count++) {
      await control.members(measurements.receiversRoom, count % workers);
    }
  } catch {
    // Nor will the broadcasts be sent, which is reported with the reason.
    return undefined;
  }
  const begin = await redis.traffic();
  if (!begin) return undefined;
  const perCount = (from: number, to: number) => (to - from) / (COUNTS * workers);
  return {
    begin,
    countBytes: { in: perCount(before.inBytes, begin.inBytes), out: perCount(before.outBytes, begin.outBytes) },
  };
}

/** @param counts of the members, since the mark @returns undefined if Redis does not answer, or is another one */
export async function redisSince(
  { redis }: Pick<RunContext, 'redis'>,
  { begin, countBytes }: RedisMark,
  counts: number,
): Promise<RedisMeasured | undefined> {
  const end = await redis?.traffic();
  if (!end || end.inBytes < begin.inBytes) return undefined;
  const { version, channels, patterns, shardChannels } = end;
  const without = (total: number, each: number) => Math.max(0, Math.round(total - counts * each));
  return {
    ...{ version, channels, patterns, shardChannels },
    inBytes: without(end.inBytes - begin.inBytes, countBytes.in),
    outBytes: without(end.outBytes - begin.outBytes, countBytes.out),
  };
}
