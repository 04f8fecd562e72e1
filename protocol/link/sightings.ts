/** What is seen of an event of the server's own, whose broadcasts nobody orders. */
import { z } from 'zod';
import { count, instant, list, name, sentence } from './bounds.ts';

/** A broadcast of an own event, as one fleet process has seen it. */
const sightingSchema = z.object({
  id: sentence,
  firstAtUs: instant,
  /** As the server writes it: an instant of unknown unit. */
  sentAt: z.union([name, z.number()]).optional(),
  /** Of the JSON of the first copy. */
  bytes: count,
  /** First copies so far. */
  reached: count,
  /** Copies so far, also of those that are in no row. */
  copies: count,
  /** Whether its copies are in a row. */
  counted: z.boolean(),
});
export type Sighting = z.infer<typeof sightingSchema>;

/** What one fleet process has seen of an own event. */
export const sightingsSchema = z.object({
  /** Of broadcasts that are not finalized. */
  ids: list(sightingSchema),
  /** Share of the room for their rows that is taken, 0 to 1. */
  filled: count,
  /** Copies in which no id was found. */
  unmatched: count,
  /** The first of these. */
  example: sentence.optional(),
});
export type Sightings = z.infer<typeof sightingsSchema>;
