import { isIPv6 } from 'node:net';
import { ApiError } from '../../core/errors.ts';

export interface FailureLimit {
  /** Throws ApiError `rate_limit_exceeded` after too many failures in the last minute. */
  check(network: string): void;
  count(network: string): void;
}

const WINDOW_MS = 60_000;

/** Returns a limit without failures. The oldest network is dropped beyond `maxNetworks`. */
export function createFailureLimit(options: {
  readonly perMinute: number;
  readonly maxNetworks: number;
  readonly nowMs: () => number;
}): FailureLimit {
  const windows = new Map<string, { readonly endsAtMs: number; failures: number }>();

  return {
    check(network) {
      const window = windows.get(network);
      const nowMs = options.nowMs();
      if (window === undefined || window.failures < options.perMinute || nowMs >= window.endsAtMs) return;
      throw new ApiError('rate_limit_exceeded', {
        message: 'Too many requests without a valid API key came from this address.',
        headers: { 'retry-after': String(Math.ceil((window.endsAtMs - nowMs) / 1000)) },
      });
    },
    count(network) {
      const nowMs = options.nowMs();
      const window = windows.get(network);
      if (window !== undefined && nowMs < window.endsAtMs) {
        window.failures += 1;
        return;
      }
      // A Map keeps the order of insertion, so its first entry is the oldest.
      windows.delete(network);
      const oldest = windows.size >= options.maxNetworks ? windows.keys().next() : undefined;
      if (oldest?.done === false) windows.delete(oldest.value);
      windows.set(network, { endsAtMs: nowMs + WINDOW_MS, failures: 1 });
    },
  };
}

/** Returns what one party controls: an IPv4 address or 64 bits of IPv6; other text is cut short. */
export function networkOf(address: string): string {
  const ipv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  if (!isIPv6(address)) return address.slice(0, 64);
  const [front = [], back = []] = address.toLowerCase().split('::').map(groupsOf);
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => '0');
  return [...front, ...zeros, ...back].slice(0, 4).join(':');
}

function groupsOf(part: string): string[] {
  return part === '' ? [] : part.split(':');
}
