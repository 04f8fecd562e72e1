/** Builds the figures of the load that the broadcasts put on the adapter's Redis. */
import type { HostTraffic } from '../../protocol/result/redis-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements, RedisMeasured } from '../run/measurements/measurements.ts';
import type { SampleRow } from '../samplers/index.ts';
import { impossibleTraffic } from './invariants/traffic-invariants.ts';
import { sum } from './sums.ts';

/**
 * @param received number of copies that clients received, from the ledger; undefined without a ledger
 * @param samples time series of the run
 */
export function redisFigures(
  { redis, redisIdleCpuUsPerSec, sent }: Pick<Measurements, 'redis' | 'redisIdleCpuUsPerSec' | 'sent'>,
  received: number | undefined,
  samples: SampleRow[],
): Result['redis'] {
  if (!redis) return null;
  const { nodes, cpuUs } = redis;
  const impossible = new Set(impossibleTraffic({ redis }).flatMap(({ figures }) => figures));
  const hosts = impossible.has('redis.hosts') ? undefined : redis.hosts;
  const perCopy = (amount: number) => (received ? amount / received : null);
  const perBroadcast = (amount: (host: HostTraffic) => number) =>
    hosts && sent.length > 0 ? sum(hosts.map(amount)) / sent.length : null;
  const buffers = samples.flatMap(({ redisServer }) => redisServer?.outputBufferBytes ?? []);
  const [inBytes, outBytes] = [total(nodes, 'inBytes') ?? 0, total(nodes, 'outBytes') ?? 0];
  return {
    version: [...new Set(nodes.map(({ version }) => version))].join(', '),
    nodes: nodes.length > 1 ? nodes.map(ofNode) : null,
    busiestNodeShare:
      nodes.length > 1 && outBytes > 0 ? Math.max(...nodes.map((node) => node.outBytes)) / outBytes : null,
    inBytes,
    outBytes,
    inBytesPerCopy: impossible.has('redis.inBytesPerCopy') ? null : perCopy(inBytes),
    outBytesPerCopy: impossible.has('redis.outBytesPerCopy') ? null : perCopy(outBytes),
    cpuMicrosecondsPerCopy: redisIdleCpuUsPerSec === null ? null : perCopy(cpuUs),
    usedMemoryBeforeBytes: total(nodes, 'usedMemoryBeforeBytes'),
    usedMemoryBytes: total(nodes, 'usedMemoryBytes'),
    rssBytes: total(nodes, 'rssBytes'),
    outputBufferPeakBytes: buffers.length > 0 ? Math.max(...buffers) : null,
    // The stream of the adapter is on one Redis node only.
    streamEntries: nodes.find(({ streamEntries }) => streamEntries !== null)?.streamEntries ?? null,
    channels: total(nodes, 'channels') ?? 0,
    shardChannels: total(nodes, 'shardChannels'),
    localOnly: sent.some(({ otherWorkers }) => otherWorkers === undefined)
      ? null
      : sent.filter(({ otherWorkers }) => otherWorkers === 0).length,
    hosts: hosts ?? null,
    hostBytesPerBroadcast: perBroadcast(({ inBytes, outBytes }) => inBytes + outBytes),
    hostPacketsPerBroadcast: perBroadcast(({ inPackets, outPackets }) => inPackets + outPackets),
  };
}

type Node = RedisMeasured['nodes'][number];

function ofNode({ node, inBytes, outBytes, usedMemoryBytes, rssBytes, channels, shardChannels }: Node) {
  return { node, inBytes, outBytes, usedMemoryBytes, rssBytes, channels, shardChannels };
}

/** Returns the sum of a figure over all nodes; null if a node does not report it. */
function total(nodes: Node[], figure: Exclude<keyof Node, 'node' | 'version' | 'streamEntries'>): number | null {
  const values = nodes.map(({ [figure]: value }) => value).filter((value) => value !== null);
  return values.length < nodes.length ? null : sum(values);
}
