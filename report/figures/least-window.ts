/**
 * Shortest window, in seconds, that shows whether a deployment keeps up. In this time, a rate that is 5 % too high
 * delays messages by half a second.
 */

export const LEAST_WINDOW_SECONDS = 10;
/** Minimum number of broadcasts or messages that show a trend. */
export const LEAST_BROADCASTS = 8;
