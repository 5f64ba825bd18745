import { NO_FORWARD } from '../../support/only-backend.ts';
import type { SingleBackend } from '../../../src/backend/backends.ts';
import { ApiError } from '../../../src/core/errors.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** How a replica is broken. */
export const FAULTS = {
  /** Also breaks what runs, and forgets its cache. */
  killed: () => new ApiError('upstream_unreachable'),
  overloaded: () => new ApiError('upstream_error', { status: 503 }),
  limited: () => new ApiError('rate_limit_exceeded', { headers: { 'retry-after': '5' } }),
  failing: () => new ApiError('upstream_error'),
  /** Takes requests and never answers. */
  silent: null,
} as const satisfies Record<string, (() => ApiError) | null>;

export type Fault = keyof typeof FAULTS;

export interface ReplicaOptions {
  /** How many it serves at a time. */
  readonly slots: number;
  /** How many more may wait there. It refuses others with a 429. */
  readonly room: number;
  /** How many prefixes its cache holds. The one that was used longest ago goes first. */
  readonly cachedPrefixes: number;
  readonly clock: VirtualClock;
  readonly random: () => number;
}

export interface Replica {
  /** The prefix of a request is its `prompt_cache_key`. */
  readonly chat: SingleBackend;
  /** Null is well again. */
  become(fault: Fault | null): void;
  readonly isWell: boolean;
  /** Requests that run or wait here. */
  readonly load: number;
  /** Requests that found their prefix in the cache. */
  readonly hits: number;
  /** By the second in which they came. */
  readonly askedBySecond: readonly number[];
}

const OUTPUT = { choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] };
const HIT_MS = 50;
const MISS_MS = 500;
const MEAN_ANSWER_MS = 2000;

/** Opens a model server that exists in the time of the clock alone. */
export function createReplica({ slots, room, cachedPrefixes, clock, random }: ReplicaOptions): Replica {
  const cached = new Set<string>();
  const active = new Set<(error: ApiError) => void>();
  const waiting: (() => void)[] = [];
  const askedBySecond: number[] = [];
  let fault: Fault | null = null;
  let running = 0;
  let hits = 0;

  function prefillMs(prefix: string): number {
    const isHit = cached.delete(prefix);
    cached.add(prefix);
    if (isHit) hits += 1;
    for (const oldest of cached) {
      if (cached.size <= cachedPrefixes) break;
      cached.delete(oldest);
    }
    return isHit ? HIT_MS : MISS_MS;
  }

  const ask: SingleBackend['ask'] = ({ prompt_cache_key: prefix = '' }, { firstByteTimeoutMs = 0 }, listener) =>
    new Promise((resolve, reject) => {
      const second = Math.floor(clock.nowMs() / 1000);
      askedBySecond[second] = (askedBySecond[second] ?? 0) + 1;
      const error = fault === null ? null : FAULTS[fault];
      const isFull = running >= slots && waiting.length >= room;
      if (error !== null || (fault === null && isFull)) {
        clock.after(1, () => reject(error?.() ?? new ApiError('rate_limit_exceeded')));
        return;
      }
      let isRunning = false;
      let cancelNext = clock.after(firstByteTimeoutMs, () => fail(new ApiError('upstream_timeout')));
      if (fault === 'silent') return;
      active.add(fail);
      if (running < slots) start();
      else waiting.push(start);

      function start(): void {
        isRunning = true;
        running += 1;
        const cancelTimeout = cancelNext;
        const cancelBegin = clock.after(prefillMs(prefix), () => {
          cancelTimeout();
          listener.begin({ headers: {}, leftOut: [], limitTotal: () => undefined });
          void listener.take({ chunks: [OUTPUT], done: false });
          cancelNext = clock.after(-Math.log(1 - random()) * MEAN_ANSWER_MS, () => {
            leave();
            resolve();
          });
        });
        cancelNext = () => {
          cancelTimeout();
          cancelBegin();
        };
      }

      function fail(failure: ApiError): void {
        cancelNext();
        leave();
        reject(failure);
      }

      function leave(): void {
        active.delete(fail);
        if (!isRunning) {
          const at = waiting.indexOf(start);
          if (at !== -1) waiting.splice(at, 1);
          return;
        }
        running -= 1;
        if (running < slots) waiting.shift()?.();
      }
    });

  return {
    chat: {
      ask,
      relay: () => Promise.reject(new Error('nothing is relayed here')),
      ...NO_FORWARD,
      refusals: { any: () => false, forModel: () => [] },
      count: () => Promise.resolve(undefined),
      connections: () => ({ busy: 0, idle: 0 }),
      close: () => Promise.resolve(),
    },
    become(next) {
      fault = next;
      if (next !== 'killed') return;
      cached.clear();
      waiting.length = 0;
      for (const fail of active) fail(new ApiError('upstream_error'));
    },
    get isWell() {
      return fault === null;
    },
    get load() {
      return running + waiting.length;
    },
    get hits() {
      return hits;
    },
    askedBySecond,
  };
}
