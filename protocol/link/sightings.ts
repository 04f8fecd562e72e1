/** Sightings of broadcasts of the user's own event, which the run does not order. */
import { z } from 'zod';
import { count, instant, list, name, sentence } from './bounded-schemas.ts';

/** A broadcast of the user's own event, as seen by a fleet process. */
const sightingSchema = z.object({
  id: sentence,
  firstAtUs: instant,
  /** Send time as written by the server, in an unknown unit. */
  sentAt: z.union([name, z.number()]).optional(),
  /** Length of the first copy's JSON. */
  bytes: count,
  /** Number of first copies so far. */
  reached: count,
  /** Whether its copies are counted in a ledger row. */
  counted: z.boolean(),
});
export type Sighting = z.infer<typeof sightingSchema>;

/** Sightings of a fleet process. */
export const sightingsSchema = z.object({
  /** Broadcasts that are not finalized. */
  ids: list(sightingSchema),
  /** Used share of the memory for their rows, 0 to 1. */
  filled: count,
  /** Example of a copy without an id. */
  example: sentence.optional(),
  /** Paths of other ids in the copies besides the option's path, each with an example. */
  others: list(z.tuple([sentence, name])).optional(),
  /** Rooms with their number of members; sent once, when the run begins to watch. */
  rooms: list(z.tuple([name, count])).optional(),
});
export type Sightings = z.infer<typeof sightingsSchema>;
