/** A message that all connections send repeatedly, on one schedule. */
export interface RepeatedMessage {
  namespace: string;
  event: string;
  args: unknown[];
  periodUs: number;
  /** How many of it are sent back to back each time. */
  count: number;
  acknowledge: boolean;
}

/**
 * Acknowledgement ids from here on are of messages that connections send again and again. All have as many digits, so that one
 * can be written over another in the bytes of a packet; neither the engine's ids nor those of joins get this high.
 */
export const FIRST_REPEATED_ACK_ID = 1e13;
