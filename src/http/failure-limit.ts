import { ApiError } from '../core/errors.ts';

export interface FailureLimit {
  /** Throws ApiError `rate_limit_exceeded` when this address has failed too often in the last minute. */
  check(address: string): void;
  count(address: string): void;
}

const WINDOW_MS = 60_000;

/** Counts failed authentications by address, so that strangers cannot make the gateway work. A bounded number of addresses is kept. */
export function createFailureLimit(options: {
  readonly perMinute: number;
  readonly maxAddresses: number;
  readonly nowMs: () => number;
}): FailureLimit {
  const windows = new Map<string, { readonly endsAtMs: number; failures: number }>();

  return {
    check(address) {
      const window = windows.get(address);
      const nowMs = options.nowMs();
      if (window === undefined || window.failures < options.perMinute || nowMs >= window.endsAtMs) return;
      throw new ApiError('rate_limit_exceeded', {
        message: 'Too many requests with a wrong API key came from this address.',
        headers: { 'retry-after': String(Math.ceil((window.endsAtMs - nowMs) / 1000)) },
      });
    },
    count(address) {
      const nowMs = options.nowMs();
      const window = windows.get(address);
      if (window !== undefined && nowMs < window.endsAtMs) {
        window.failures += 1;
        return;
      }
      // The oldest goes first: a Map keeps the order in which windows began.
      windows.delete(address);
      const oldest = windows.size >= options.maxAddresses ? windows.keys().next() : undefined;
      if (oldest?.done === false) windows.delete(oldest.value);
      windows.set(address, { endsAtMs: nowMs + WINDOW_MS, failures: 1 });
    },
  };
}
