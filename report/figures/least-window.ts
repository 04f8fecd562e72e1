/** How much of broadcasts or messages shows whether a deployment keeps up: a rate that is 5 % too high is half a second late then. */

export const LEAST_WINDOW_SECONDS = 10;
/** Fewer do not show a trend. */
export const LEAST_BROADCASTS = 8;
