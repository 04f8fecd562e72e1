/**
 * Section `redis` of the result document: the adapter's Redis during the broadcasts. Its memory over time is in the
 * layers.
 */
import { z } from 'zod';
import { figure } from './figure.ts';
import { count, object, orNull } from './shared-schemas.ts';

const perCopy = { quantity: 'bytes', answers: ['delivery'], compared: 'secondary' } as const;

/** Node of a Redis Cluster during the broadcasts. The keys are those of the sum over all nodes. */
const nodeSchema = object({
  node: z.string().describe('`host:port`'),
  inBytes: count.describe('received for the broadcasts'),
  outBytes: count.describe('sent for them'),
  usedMemoryBytes: count.describe('after the broadcasts'),
  rssBytes: count.describe('after the broadcasts'),
  channels: count.describe('channels with subscribers'),
  shardChannels: count.nullable().describe('sharded ones; null before Redis 7.0'),
});

export const redisSchema = object({
  version: z.string().describe('version'),
  inBytes: count.describe('received for the broadcasts'),
  outBytes: count.describe('sent for them'),
  inBytesPerCopy: figure(z.number().nullable(), '`inBytes` ÷ `delivery.received`', {
    ...{ ...perCopy, title: 'Redis received per message' },
  }),
  outBytesPerCopy: figure(z.number().nullable(), '`outBytes` ÷ `delivery.received`', {
    ...{ ...perCopy, title: 'Redis sent per message' },
  }),
  cpuMicrosecondsPerCopy: figure(orNull(z.number()), 'CPU ÷ `delivery.received`, less the idle share', {
    title: 'Redis CPU per message',
    quantity: 'microseconds',
    answers: ['cpu'],
    compared: 'secondary',
  }),
  usedMemoryBeforeBytes: orNull(count).describe('before the broadcasts'),
  usedMemoryBytes: figure(orNull(count), 'after the broadcasts', {
    ...{ title: 'Redis memory', quantity: 'megabytes', answers: ['memory'], compared: 'secondary', follows: 'load' },
  }),
  rssBytes: orNull(count).describe('after the broadcasts'),
  outputBufferPeakBytes: orNull(count).describe('largest output waiting for subscribers'),
  streamEntries: orNull(count).describe('length of the adapter’s stream'),
  channels: count.describe('channels with subscribers'),
  shardChannels: count.nullable().describe('sharded ones; null before Redis 7.0'),
  localOnly: count.nullable().describe('broadcasts with members on the sending worker only'),
  nodes: orNull(z.array(nodeSchema)).describe('of a Redis Cluster; the other figures are sums'),
  busiestNodeShare: orNull(z.number()).describe('its share of `outBytes`'),
}).nullable();
