/**
 * Returns a time of an input field in the time zone of the browser as Unix time.
 *
 * @param {string} text As in `datetime-local`; empty for none.
 * @returns {number | null}
 */
export function toSeconds(text) {
  const ms = text === '' ? Number.NaN : new Date(text).getTime();
  return Number.isNaN(ms) ? null : Math.floor(ms / 1000);
}

/**
 * @param {number | null} seconds
 * @returns {string} The value of a `datetime-local` field.
 */
export function toLocal(seconds) {
  if (seconds === null) return '';
  const date = new Date(seconds * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
