/** What is seen of an event of the server's own, whose broadcasts nobody orders. */
import { z } from 'zod';
import { count, instant, list, name, sentence } from './bounded-schemas.ts';

/** A broadcast of an own event, as one fleet process has seen it. */
const sightingSchema = z.object({
  id: sentence,
  firstAtUs: instant,
  /** As the server writes it: an instant of unknown unit. */
  sentAt: z.union([name, z.number()]).optional(),
  /** Length of the first copy's JSON. */
  bytes: count,
  /** First copies so far. */
  reached: count,
  /** Whether its copies are in a row. */
  counted: z.boolean(),
});
export type Sighting = z.infer<typeof sightingSchema>;

/** What one fleet process has seen of an own event. */
export const sightingsSchema = z.object({
  /** Broadcasts that are not finalized. */
  ids: list(sightingSchema),
  /** Share of the room for their rows that is taken, 0 to 1. */
  filled: count,
  /** The first copy in which no id was found. */
  example: sentence.optional(),
  /** Ids that copies have beside those at the option's path: where, and one of them. */
  others: list(z.tuple([sentence, name])).optional(),
  /** Once, when the run begins to watch: rooms and their members. */
  rooms: list(z.tuple([name, count])).optional(),
});
export type Sightings = z.infer<typeof sightingsSchema>;
