/** What is seen of an event of the server's own, whose broadcasts nobody orders. */
import type { InstantUs } from '../clock/instants.ts';

/** A broadcast of an own event, as one fleet process has seen it. */
export interface Sighting {
  id: string;
  firstAtUs: InstantUs;
  /** As the server writes it: an instant of unknown unit. */
  sentAt: string | number | undefined;
  /** Of the JSON of the first copy. */
  bytes: number;
  /** First copies so far. */
  reached: number;
  /** Copies so far, also of those that are in no row. */
  copies: number;
  /** Whether its copies are in a row. */
  counted: boolean;
}

/** What one fleet process has seen of an own event. */
export interface Sightings {
  /** Of broadcasts that are not finalized. */
  ids: Sighting[];
  /** Share of the room for their rows that is taken, 0 to 1. */
  filled: number;
  /** Copies in which no id was found. */
  unmatched: number;
  /** The first of these. */
  example: string | undefined;
}
