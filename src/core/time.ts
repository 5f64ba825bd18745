export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Returns Unix time in whole seconds. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
export function toMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}

export const UTC = 'UTC';
