/** How many deltas a stream without delay has. */
export const BURST_DELTAS = 200;
