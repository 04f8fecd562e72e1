/**
 * Section `redis` of the result document: the adapter's Redis during the broadcasts. Its memory over time is in the
 * layers.
 */
import { z } from 'zod';
import { describeFigure } from './figure.ts';
import { resultCount, schemaOrNull, strictObject } from './shared-schemas.ts';

const perCopy = { quantity: 'bytes', answers: ['delivery'], compared: 'secondary' } as const;

/** Figures of one Redis Cluster node during the broadcasts. The keys are the same as in the sum over all nodes. */
const nodeSchema = strictObject({
  node: z.string().describe('`host:port`'),
  inBytes: resultCount.describe('received for the broadcasts'),
  outBytes: resultCount.describe('sent for them'),
  usedMemoryBytes: resultCount.describe('after the broadcasts'),
  rssBytes: resultCount.describe('after the broadcasts'),
  channels: resultCount.describe('channels with subscribers'),
  shardChannels: resultCount.nullable().describe('sharded ones; null before Redis 7.0'),
});

/** Counters of the network interface between a worker host and Redis, with the headers of Ethernet, IP and TCP. */
const hostTrafficSchema = strictObject({
  workers: z.array(z.string()).describe('workers on the host'),
  inBytes: resultCount.describe('from Redis'),
  inPackets: resultCount.describe('packets from Redis'),
  outBytes: resultCount.describe('to Redis'),
  outPackets: resultCount.describe('packets to Redis'),
});

export type HostTraffic = z.infer<typeof hostTrafficSchema>;

export const redisSchema = strictObject({
  version: z.string().describe('version'),
  inBytes: resultCount.describe('received for the broadcasts'),
  outBytes: resultCount.describe('sent for them'),
  inBytesPerCopy: describeFigure(z.number().nullable(), '`inBytes` ÷ `delivery.received`', {
    ...{ ...perCopy, title: 'Redis received per message' },
  }),
  outBytesPerCopy: describeFigure(z.number().nullable(), '`outBytes` ÷ `delivery.received`', {
    ...{ ...perCopy, title: 'Redis sent per message' },
  }),
  cpuMicrosecondsPerCopy: describeFigure(schemaOrNull(z.number()), 'CPU ÷ `delivery.received`, less the idle share', {
    title: 'Redis CPU per message',
    quantity: 'microseconds',
    answers: ['cpu'],
    compared: 'secondary',
  }),
  usedMemoryBeforeBytes: schemaOrNull(resultCount).describe('before the broadcasts'),
  usedMemoryBytes: describeFigure(schemaOrNull(resultCount), 'after the broadcasts', {
    ...{ title: 'Redis memory', quantity: 'megabytes', answers: ['memory'], compared: 'secondary', follows: 'load' },
  }),
  rssBytes: schemaOrNull(resultCount).describe('after the broadcasts'),
  outputBufferPeakBytes: schemaOrNull(resultCount).describe('largest output waiting for subscribers'),
  streamEntries: schemaOrNull(resultCount).describe('length of the adapter’s stream'),
  channels: resultCount.describe('channels with subscribers'),
  shardChannels: resultCount.nullable().describe('sharded ones; null before Redis 7.0'),
  localOnly: resultCount.nullable().describe('broadcasts with members on the sending worker only'),
  nodes: schemaOrNull(z.array(nodeSchema)).describe('of a Redis Cluster; the other figures are sums'),
  busiestNodeShare: schemaOrNull(z.number()).describe('its share of `outBytes`'),
  hosts: schemaOrNull(z.array(hostTrafficSchema))
    .default(null)
    .describe('interfaces of the worker hosts to Redis, for the broadcasts; null if they also carry other traffic'),
  hostBytesPerBroadcast: describeFigure(schemaOrNull(z.number()).default(null), 'all `hosts`, both directions', {
    ...{
      answers: ['delivery'],
      compared: 'secondary',
      title: 'Wire bytes between hosts and Redis per broadcast',
      quantity: 'bytes',
    },
  }),
  hostPacketsPerBroadcast: describeFigure(schemaOrNull(z.number()).default(null), 'all `hosts`, both directions', {
    // Comparisons treat a count as a number of faults, without a measurement error, so this figure is not compared.
    ...{ answers: ['delivery'], title: 'Packets between hosts and Redis per broadcast', quantity: 'count' },
  }),
}).nullable();
