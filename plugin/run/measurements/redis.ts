import type { RedisTraffic } from '../../samplers/redis/redis.ts';

/** The adapter's Redis, during the broadcasts. */
export interface RedisMeasured {
  /** Each node of a cluster, or the one Redis. Bytes are those of the broadcasts, without the run's own requests. */
  nodes: (Omit<RedisTraffic, 'cpuUs'> & { usedMemoryBeforeBytes: number })[];
  /** What all nodes used for the broadcasts, as far as it is known what else they do. */
  cpuUs: number;
}
