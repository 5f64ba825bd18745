import { isIPv6 } from 'node:net';
import { ApiError } from '../core/errors.ts';
import { setLast } from '../core/set-last.ts';

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
      if (window === undefined || window.failures < options.perMinute || !isOpen(window, nowMs)) return;
      throw new ApiError('rate_limit_exceeded', {
        message: 'Too many requests without a valid API key came from this address.',
        headers: { 'retry-after': String(Math.ceil((window.endsAtMs - nowMs) / 1000)) },
      });
    },
    count(network) {
      const nowMs = options.nowMs();
      const window = windows.get(network);
      if (window !== undefined && isOpen(window, nowMs)) {
        window.failures += 1;
        return;
      }
      setLast(windows, network, { endsAtMs: nowMs + WINDOW_MS, failures: 1 }, options.maxNetworks);
    },
  };
}

/** A clock that was set back must not hold anybody up for longer. */
function isOpen({ endsAtMs }: { readonly endsAtMs: number }, nowMs: number): boolean {
  return nowMs < endsAtMs && nowMs >= endsAtMs - WINDOW_MS;
}

/**
 * Returns what one party controls: an IPv4 address or 64 bits of IPv6; other text is cut short.
 * Some proxies write the port too, which a client chooses freely.
 */
export function networkOf(address: string): string {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
  if (!isIPv6(bare)) return bare.slice(0, 64);
  const [front = [], back = []] = withoutZone(bare).toLowerCase().split('::').map(groupsOf);
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => 0);
  const groups = [...front, ...zeros, ...back];
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return groups.slice(6).flatMap(bytesOf).join('.');
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? '';
}

function groupsOf(part: string): number[] {
  return part === '' ? [] : part.split(':').flatMap(numbersOf);
}

/** The last two groups can be written as an IPv4 address. */
function numbersOf(group: string): number[] {
  if (!group.includes('.')) return [parseInt(group, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

function bytesOf(group: number): number[] {
  return [group >> 8, group & 0xff];
}
