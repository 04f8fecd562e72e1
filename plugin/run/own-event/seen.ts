/** What all fleet processes together have seen of an event of the server's own. */
import type { Sightings } from '../../../protocol/link/sightings.ts';

/** A broadcast, by its id. Times on CLOCK_MONOTONIC. */
export interface Seen {
  id: string;
  /** Over all processes. */
  firstAtUs: number;
  sentAt: string | number | undefined;
  bytes: number;
  /** First copies so far. */
  reached: number;
  /** In the ledger of every process that has seen it. */
  counted: boolean;
}

/** @returns in the order of their first receipts */
export function allSeen(sightings: Sightings[]): Seen[] {
  const byId = new Map<string, Seen>();
  for (const { ids } of sightings) {
    for (const { id, firstAtUs, sentAt, bytes, reached, counted } of ids) {
      const known = byId.get(id);
      if (!known) byId.set(id, { id, firstAtUs, sentAt, bytes, reached, counted });
      else {
        if (firstAtUs < known.firstAtUs) Object.assign(known, { firstAtUs, sentAt: sentAt ?? known.sentAt });
        known.reached += reached;
        known.counted &&= counted;
      }
    }
  }
  return [...byId.values()].sort((a, b) => a.firstAtUs - b.firstAtUs);
}
