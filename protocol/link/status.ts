/** Counts of one engine's fleet, sent several times a second, for the live line and to detect the end of traffic. */
import { z } from 'zod';
import { count, counts } from './bounded-schemas.ts';

export const fleetStatusSchema = z.object({
  /** Virtual users that have started. */
  started: count,
  connecting: count,
  connected: count,
  /** Current members of a room, as acknowledged. */
  joined: count,
  /** Virtual users parked in `hold`. */
  holding: count,
  failed: count,
  /** Connections opened so far, also those that came back. */
  opened: count,
  /** Attempts to connect that failed so far. */
  failedAttempts: count,
  /** Those that failed although they lost no connection, by cause. */
  failures: counts,
  /** Connections that ended, by reason, whichever side ended them. */
  ended: counts,
  /** Broadcast receipts since the start, duplicates included. */
  received: count,
  /** First copies of a broadcast at a connection, among `received`. */
  reached: count,
  /** Joins sent and not yet acknowledged. */
  joining: count,
  /** Connected by polling, and about to change to WebSocket. */
  upgrading: count,
  /** Dropped, and about to come back. */
  away: count,
  /** How late a timer of the slowest event loop was at most, in the last second. No count: of several, the largest stands. */
  loopLateMs: count,
});
export type FleetStatus = z.infer<typeof fleetStatusSchema>;
