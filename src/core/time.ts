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

/** Returns the moment of `2027-01-31` or `2027-01-31T12:00Z`; undefined for any other text, and for a day that does not exist. */
export function parseUtc(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z)?$/.test(text)) return undefined;
  const ms = Date.parse(text);
  // Date reads the 30th of February as a day in March.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.replace('Z', '')) ? ms : undefined;
}
