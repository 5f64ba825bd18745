/**
 * Returns a time of an input field, which is in UTC, as Unix time.
 * @param {string} text As in `datetime-local`; empty for none.
 * @returns {number | null}
 */
export function toSeconds(text) {
  const ms = Date.parse(`${text}Z`);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1000);
}

/** @param {number | null} seconds @returns {string} The value of a `datetime-local` field. */
export function toField(seconds) {
  return seconds === null ? '' : new Date(seconds * 1000).toISOString().slice(0, 19);
}
