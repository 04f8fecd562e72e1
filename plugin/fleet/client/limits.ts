/** A connection whose server leaves more than this unread ends when it is to send the next message, of whatever size. */
export const MAX_UNSENT_BYTES = 16 * 1024 ** 2;
