/** Memory while clients connect and disconnect, in the section `memory` of the result document. */
import { z } from 'zod';
import { figure } from './figure.ts';
import { byName, count, layers, object, objectOrNull, orNull, time } from './shared-schemas.ts';

const momentSchema = object({
  t: time,
  connections: z.number().describe('connections at that time'),
  gone: z.number().describe('connections that had been opened and closed by then'),
  bytes: layers.describe('by layer'),
});

const driftSchema = object({
  bytesPerConnection: figure(
    z.number(),
    'memory that each connection leaves behind; the whole rise if `perSecond` is null',
    { title: 'per connection that left', quantity: 'size', answers: ['memory'] },
  ),
  low95: z.number().nullable().describe('lower end of its 95 % interval; null with fewer than three readings'),
  high95: z.number().nullable().describe('upper end'),
  perSecond: objectOrNull({
    bytes: figure(z.number(), 'bytes per second', { quantity: 'size', answers: ['memory'] }),
    low95: z.number(),
    high95: z.number(),
    noLeakAbove: z.number().describe('bytes per second from which a rise over time would have been detected'),
  }).describe('rise over time, independent of connections; null if the readings cannot separate the two'),
  bytesPerHour: z.number().describe('the whole rise, by time'),
  bytesPerWave: z.number().nullable().describe('the whole rise, by waves; null with churn'),
  leaks: z
    .boolean()
    .nullable()
    .describe(
      'an interval is above 0, and the rise above what readings of an idle server differ by; null if the readings are not conclusive',
    ),
  noLeakAbove: z
    .number()
    .nullable()
    .describe('bytes per connection from which a leak would have been detected, at least `high95`'),
  wouldTell: objectOrNull({
    connections: z.number().describe('connections of each wave; with churn, in all'),
    bytes: z.number().describe('bytes per connection that would be detected then'),
  }).describe('a run that would be conclusive, if `noLeakAbove` is more than the cost of a connection; null otherwise'),
  sinceSeconds: orNull(z.number()).describe(
    'the line begins here, because memory had grown before and then stopped; null: at the warm-up’s end',
  ),
});

const countSchema = object({
  id: z.string().describe('such as `workerNamespaces` or `redisKeys`'),
  title: z.string().describe('what is counted'),
  first: count.describe('after the first wave of the line'),
  last: count.describe('after the last one'),
  perConnection: z.number().describe('number that each connection leaves behind'),
  low95: z.number().describe('lower end of its 95 % interval'),
  high95: z.number().describe('upper end'),
  isKept: z.boolean().describe('the interval is above 0, and at least one remains per hundred connections'),
});

export const overTimeSchema = object({
  kind: z
    .enum(['waves', 'churn', 'load'])
    .describe(
      'read after each wave, with no connections, or while virtual users come and go: with `overTime.every`, or in a load whose users all leave by themselves',
    ),
  collected: z.boolean().describe('the workers collected their garbage before each reading'),
  peaks: z.array(momentSchema).describe('each wave when all were connected; only with waves'),
  readings: z
    .array(momentSchema)
    .describe('the readings of the line; older ones are means of neighbours in a long run'),
  // Readings before as many connections had closed as were ever open at the same time.
  warmUpReadings: count.describe('readings at the beginning that the line leaves out'),
  counts: z
    .array(countSchema)
    .default([])
    .describe('counts that remain after all connections have closed; only with waves'),
  drift: byName(driftSchema).describe('memory that a connection leaves behind, by layer'),
});

export type OverTimeResult = z.infer<typeof overTimeSchema>;
export type CountOverTime = z.infer<typeof countSchema>;
export type Drift = z.infer<typeof driftSchema>;
