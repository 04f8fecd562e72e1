/** Copies of events without ids, between two readings. */
import { z } from 'zod';
import { count, list, name } from './bounded-schemas.ts';

export const eventCountsSchema = z.object({
  event: name,
  /** Copies, and the number of connections that got so many. */
  byCount: list(z.tuple([count, count])),
});
export type EventCounts = z.infer<typeof eventCountsSchema>;
