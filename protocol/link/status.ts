/** Counts of one engine's fleet, sent several times a second, for the live line and to detect the end of traffic. */
export interface FleetStatus {
  /** Virtual users that have started. */
  started: number;
  connecting: number;
  /** Currently connected. */
  connected: number;
  /** Current members of a room, as acknowledged. */
  joined: number;
  /** Further connections of multi-connection virtual users, which have neither opened nor failed yet. */
  toOpen: number;
  /** Virtual users parked in `hold`. */
  holding: number;
  failed: number;
  /** Broadcast receipts since the start, duplicates included. */
  received: number;
  /** Of these, the first copies of a broadcast at a connection. */
  reached: number;
  /** Joins sent and not yet acknowledged. */
  joining: number;
  /** Connected by polling, and about to change to WebSocket. */
  upgrading: number;
  /** Dropped, and about to come back. */
  away: number;
  /** How late a timer of the slowest event loop was at most, in the last second. No count: of several, the largest stands. */
  loopLateMs: number;
}
