/** What the adapter's Redis did for the broadcasts. */
import type { Result } from '../../protocol/result/result.ts';
import { decimals, integer, sizeOf } from './format.ts';

type Row = [title: string, figure: string, note: string];

/** @returns rows of title, figure and note; none without Redis */
export function redisRows({ redis }: Pick<Result, 'redis'>): Row[] {
  if (!redis) return [];
  const { shardChannels, channels, patterns, usedMemoryBeforeBytes: before } = redis;
  const row = (title: string, value: number | null, format: (value: number) => string, note: string) =>
    value === null ? [] : [[`Redis, ${title}`, format(value), note] as Row];
  const oneDigit = (value: number) => decimals(value, 1);
  return [
    ...row('received', redis.inBytesPerCopy, oneDigit, 'bytes per receipt'),
    ...row('sent', redis.outBytesPerCopy, oneDigit, 'bytes per receipt'),
    ...row('CPU', redis.cpuMicrosecondsPerCopy, (value) => decimals(value, 2), 'µs per receipt'),
    ...row('memory', redis.usedMemoryBytes, sizeOf, before === null ? '' : `before the broadcasts ${sizeOf(before)}`),
    ...row('RSS', redis.rssBytes, sizeOf, ''),
    ...row('connections', redis.clientBytes, sizeOf, 'memory of its connections'),
    ...row('output waiting', redis.outputBufferPeakBytes, sizeOf, 'at most, read once a second'),
    ...row('stream', redis.streamEntries, integer, 'entries'),
    ...row('channels', channels + patterns + (shardChannels ?? 0), integer, 'that workers subscribe to'),
    ...busiestNode(redis),
    ...(redis.forNobody
      ? row('for nobody', redis.forNobody, integer, 'broadcasts without members on other workers')
      : []),
  ];
}

/** Sharded channels each have one node, so a single room loads only that one. */
function busiestNode({ nodes, busiestNodeShare }: NonNullable<Result['redis']>): Row[] {
  if (!nodes || busiestNodeShare === null) return [];
  const note = `of what ${nodes.length} nodes sent`;
  return [['Redis, busiest node', `${decimals(100 * busiestNodeShare, 1)} %`, note]];
}
