/** The length of each day in UTC, by which the gateway counts. */
export const DAY_MS = 86_400_000;
