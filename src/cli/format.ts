/** Returns `2026-11-21 20:41:43`, in UTC. */
export function formatMoment(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
}

/** Returns `2026-11-21T20:41:43Z`, for programs. */
export function toTimestamp(atMs: number | null): string | null {
  return atMs === null ? null : `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}

/** Returns `2026-11-21 20:41:43 UTC`. */
export function formatUtcOr(none: string, atMs: number | null): string {
  return atMs === null ? none : `${formatMoment(atMs)} UTC`;
}

/** Returns `10.00 USD`; the amount alone without prices. */
export function formatMoney(amount: string, currency: string | undefined): string {
  return currency === undefined ? amount : `${amount} ${currency}`;
}

/** Returns `0.35 s`, `12.0 s` or `3 min 20 s`. */
export function formatSpan(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

/** Returns `1 234 567`. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ' ');
}

/** Returns `1 key` or `2 keys`. */
export function formatNumberOf(noun: string, count: number): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}
