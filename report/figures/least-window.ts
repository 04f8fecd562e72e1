/** Shortest window that shows whether a deployment keeps up. A rate that is 5 % too high delays it by half a second. */

export const LEAST_WINDOW_SECONDS = 10;
/** Fewest broadcasts or messages that show a trend. */
export const LEAST_BROADCASTS = 8;
