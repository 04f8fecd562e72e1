/** The section `redis` of the result document: the adapter's Redis during the broadcasts. The layers have its memory over the run. */
import { z } from 'zod';
import { count } from './parts.ts';

/** One node of a Redis Cluster during the broadcasts; keys as those of all nodes together. */
const nodeSchema = z.strictObject({
  /** `host:port` */
  node: z.string(),
  inBytes: count,
  outBytes: count,
  usedMemoryBytes: count,
  rssBytes: count,
  channels: count,
  shardChannels: count.nullable(),
});

/** Null without Redis, without broadcasts, or if it did not answer before and after them. */
export const redisSchema = z
  .strictObject({
    version: z.string(),
    /** Of a Redis Cluster, of which the figures below are sums; null of a single Redis. */
    nodes: z.array(nodeSchema).nullable().default(null),
    /** Of what the nodes sent, the share of the one that sent the most; null of a single Redis, or if they sent nothing. */
    busiestNodeShare: z.number().nullable().default(null),
    /** Received and sent for the broadcasts, without the requests of the run. */
    inBytes: count,
    outBytes: count,
    /** Per copy that a client received; null if none did. */
    inBytesPerCopy: z.number().nullable(),
    outBytesPerCopy: z.number().nullable(),
    /** Less what it uses while connections are idle; null without a hold, which shows that. */
    cpuMicrosecondsPerCopy: z.number().nullable().default(null),
    /** As Redis reports it, before and after the broadcasts. */
    usedMemoryBeforeBytes: count.nullable().default(null),
    usedMemoryBytes: count.nullable().default(null),
    /** After the broadcasts. */
    rssBytes: count.nullable().default(null),
    /** Memory of its connections, output buffers included, after the broadcasts. */
    clientBytes: count.nullable().default(null),
    /** The most output that waited for subscribers, of one reading a second; null without readings. */
    outputBufferPeakBytes: count.nullable().default(null),
    /** Entries of the adapter's stream, after the broadcasts; null if it writes to none. */
    streamEntries: count.nullable().default(null),
    /** With subscribers. */
    channels: count,
    patterns: count,
    /** Null before Redis 7.0. */
    shardChannels: count.nullable(),
    /** Broadcasts without members on other workers than the publisher's; null if the server does not tell. */
    forNobody: count.nullable(),
  })
  .nullable();
