/**
 * Measures the load that broadcasts put on the adapter's Redis. Before each broadcast, workers count the room's members
 * through the same Redis. The cost of this count is measured first and subtracted.
 */
import type { HostTraffic } from '../../../protocol/result/redis-schema.ts';
import { readHostTraffic } from '../../samplers/index.ts';
import type { RunContext } from '../context.ts';
import type { RedisMeasured } from '../measurements/measurements.ts';

/** Number of member counts per worker, to measure the cost of one count. */
const COUNTS = 5;

type RedisMark = NonNullable<Awaited<ReturnType<typeof readRedisBefore>>>;

/** Measures Redis's idle CPU while connections are held, to subtract it from the CPU figure of the broadcasts. */
export async function measureIdleRedisCpu(
  { redis, measurements }: Pick<RunContext, 'redis' | 'measurements'>,
  hold: () => Promise<void>,
): Promise<void> {
  const begin = await redis?.traffic();
  const beganAtMs = performance.now();
  await hold();
  const seconds = (performance.now() - beganAtMs) / 1000;
  const end = begin && (await redis?.traffic());
  if (!begin || !end || seconds <= 0) return;
  const used = end.map(({ cpuUs }, node) => cpuUs - (begin[node]?.cpuUs ?? 0));
  if (used.every((cpuUs) => cpuUs >= 0)) measurements.redisIdleCpuUsPerSec = sum(used) / seconds;
}

/**
 * Reads Redis just before the broadcasts.
 * @returns for each Redis node: its counters, the cost of one member count, and the CPU time that reading the node
 * takes (the bytes of that reading are already subtracted); the same for each worker host; undefined without Redis, or if
 * Redis does not answer
 */
export async function readRedisBefore({ redis, control, measurements, config }: RunContext) {
  const { workersAtStart, redisStream: stream, receiversRoom } = measurements;
  const first = await redis?.traffic(stream);
  const before = first && (await redis?.traffic(stream));
  if (!redis || !first || !before) return undefined;
  const counts = COUNTS * workersAtStart.length;
  const readHosts = () =>
    config.control && config.redisUrl
      ? readHostTraffic(workersAtStart, config.control.urls, config.redisUrl)
      : undefined;
  const hostsBefore = readHosts();
  try {
    for (let count = 0; count < counts; count++) await control.members(receiversRoom, count % workersAtStart.length);
  } catch {
    // No error is reported here, because the checkpoints report a control port that does not answer.
    return undefined;
  }
  const begin = await redis.traffic(stream);
  if (!begin) return undefined;
  const nodes = begin.map((now, node) => {
    const [earlier, later] = [first[node] ?? now, before[node] ?? now];
    const readingCpuUs = Math.max(0, later.cpuUs - earlier.cpuUs);
    const count = {
      inBytes: (now.inBytes - later.inBytes) / counts,
      outBytes: (now.outBytes - later.outBytes) / counts,
      cpuUs: Math.max(0, now.cpuUs - later.cpuUs - readingCpuUs) / counts,
    };
    return { begin: now, count, readingCpuUs };
  });
  const hosts = readHosts()?.map((now, host) => {
    const earlier = hostsBefore?.[host] ?? now;
    return { begin: now, count: mapCounters(now, (value, key) => (value - earlier[key]) / counts) };
  });
  return { nodes, hosts, readHosts, beganAtMs: performance.now() };
}

/**
 * @param counts number of times that workers have counted members since the first reading
 * @returns undefined if Redis does not answer or has restarted
 */
export async function redisLoadSince(
  { redis, measurements }: Pick<RunContext, 'redis' | 'measurements'>,
  { nodes: marks, hosts, readHosts, beganAtMs }: RedisMark,
  counts: number,
): Promise<RedisMeasured | undefined> {
  const seconds = (performance.now() - beganAtMs) / 1000;
  const ends = await redis?.traffic(measurements.redisStream);
  const pairs = marks.flatMap((mark, node) => (ends?.[node] ? [{ ...mark, end: ends[node] }] : []));
  if (pairs.length < marks.length || pairs.some(({ begin, end }) => end.inBytes < begin.inBytes)) return undefined;
  const without = (total: number, each: number) => Math.max(0, Math.round(total - counts * each));
  const nodes = pairs.map(({ begin, end, count }) => {
    const { cpuUs: _, ...seen } = end;
    return {
      ...seen,
      inBytes: without(end.inBytes - begin.inBytes, count.inBytes),
      outBytes: without(end.outBytes - begin.outBytes, count.outBytes),
      usedMemoryBeforeBytes: begin.usedMemoryBytes,
    };
  });
  const idleUs = seconds * (measurements.redisIdleCpuUsPerSec ?? 0);
  const cpuUs = pairs.map(
    ({ begin, end, count, readingCpuUs }) => end.cpuUs - begin.cpuUs - readingCpuUs - counts * count.cpuUs,
  );
  const hostEnds = readHosts();
  return {
    nodes,
    cpuUs: Math.max(0, Math.round(sum(cpuUs) - idleUs)),
    hosts: hostEnds?.map((end, host) => {
      const { begin, count } = hosts?.[host] ?? {};
      return {
        ...end,
        ...mapCounters(end, (value, key) => without(value - (begin?.[key] ?? value), count?.[key] ?? 0)),
      };
    }),
  };
}

const COUNTERS = ['inBytes', 'inPackets', 'outBytes', 'outPackets'] as const;
type Counters = Omit<HostTraffic, 'workers'>;

function mapCounters(host: Counters, change: (value: number, key: keyof Counters) => number): Counters {
  return Object.fromEntries(COUNTERS.map((key) => [key, change(host[key], key)])) as unknown as Counters;
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
