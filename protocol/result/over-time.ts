/** Of the section `memory` of the result document: memory while connections come and go. */
import { z } from 'zod';
import { count, layers } from './parts.ts';

const momentSchema = z.strictObject({
  /** On the time axis of the samples. */
  t: z.number(),
  connections: z.number(),
  /** Connections that had come and left by then. */
  gone: z.number(),
  bytes: layers,
});

const driftSchema = z.strictObject({
  /** Slope of the readings against the connections that have left. */
  bytesPerConnection: z.number(),
  /** Null with fewer than three readings. */
  low95: z.number().nullable(),
  high95: z.number().nullable(),
  bytesPerHour: z.number(),
  /** Null with churn. */
  bytesPerWave: z.number().nullable(),
  /** Whether the interval is above 0, by more than readings differ. Null without an interval. */
  leaks: z.boolean().nullable(),
  /** What a leak would have been found from, in bytes per connection. Null without an interval. */
  noLeakAbove: z.number().nullable(),
});

export const overTimeSchema = z.strictObject({
  /** `waves`: read when all of a wave had left. `churn`: read one after the other, while virtual users come and go. */
  kind: z.enum(['waves', 'churn']),
  /** The workers collected their garbage before each reading. */
  collected: z.boolean(),
  /** Of each wave, when all were connected; empty with churn. */
  peaks: z.array(momentSchema),
  /** After many, older ones are means of neighbours. */
  readings: z.array(momentSchema),
  /** Readings at the beginning that the line leaves out: fewer connections had left than were ever open at the same time. */
  warmUpReadings: count,
  /** By layer. */
  drift: z.record(z.string(), driftSchema),
});

export type OverTimeResult = z.infer<typeof overTimeSchema>;
export type Drift = z.infer<typeof driftSchema>;
