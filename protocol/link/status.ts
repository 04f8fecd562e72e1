/** Counts of an engine's fleet, sent several times a second for the live line, and to detect the end of traffic. */
import { z } from 'zod';
import { count, counts } from './bounded-schemas.ts';

export const fleetStatusSchema = z.object({
  /** Virtual users that have started. */
  started: count,
  /** Virtual users of other engines that have started. */
  others: count,
  connecting: count,
  connected: count,
  /** Connections with an acknowledged join. */
  joined: count,
  /** Virtual users parked in `hold`. */
  holding: count,
  failed: count,
  /** Connections opened so far, including reconnects. */
  opened: count,
  /** Failed connection attempts so far. */
  failedAttempts: count,
  /** Virtual users that failed, but not by a lost connection, by cause. */
  failures: counts,
  /** Connections closed by either side, by reason. */
  ended: counts,
  /** Broadcast receipts since the start, duplicates included. */
  received: count,
  /** First copies per connection and broadcast, part of `received`. */
  reached: count,
  /** Joins sent and not yet acknowledged. */
  joining: count,
  /** Connected by polling, with an upgrade to WebSocket under way. */
  upgrading: count,
  /** Dropped, with a reconnect under way. */
  away: count,
  /** Largest lateness of a timer in the slowest event loop during the last second. Combined by maximum, not by sum. */
  loopLateMs: count,
});
export type FleetStatus = z.infer<typeof fleetStatusSchema>;
