/** Keeps the backends: who has a place, who rests, and which one a request gets. */

import { isDeepStrictEqual } from 'node:util';
import { ApiError, toApiError, type ErrorCode } from '../core/errors.ts';
import type { Connected } from '../core/chat.ts';
import { createRoutes, type BackendSpec, type Route, type Routes, type Routing } from '../core/routes.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import { blameOf } from './blame.ts';
import type { AskOptions, ChatBackend, ChatRelay } from './chat.ts';
import { unreachableReason } from './connection-failures.ts';
import type { InputCounter } from './input-counter.ts';
import type { KnownRefusals } from './refused-fields.ts';
import type { ChatBody } from '../core/encoded-chat.ts';
import type { KeyOwner } from './failures.ts';
import { createFairQueue } from './fair-queue.ts';
import { withKey } from './key-headers.ts';
import { retryAfterMsOf } from './reply-headers.ts';
import { createRest, type Rest, type RestChange, type RestState } from './rest.ts';

export interface SingleBackend extends ChatBackend, ChatRelay, Connected {
  readonly refusals: KnownRefusals;
  readonly count: InputCounter['count'];
}

export interface RoutedInputCounter {
  /** Asks the first choice. Returns undefined if it cannot tell. */
  count(chat: ChatBody, asking: AskOptions & { readonly route: Pick<Route, 'alike'> }): Promise<number | undefined>;
}

export interface BackendsOptions {
  readonly keyOwner: KeyOwner;
  readonly queueTimeoutMs: number;
  readonly nowMs: () => number;
  readonly open: (spec: BackendSpec) => SingleBackend;
  readonly onChange: (change: BackendChange) => void;
  /** Is called when no connection could be made, and not again for the same reason until an answer has come. */
  readonly onUnreachable?: (spec: BackendSpec, why: NonNullable<ReturnType<typeof unreachableReason>>) => void;
}

export interface BackendChange extends RestChange {
  readonly backend: string;
}

export interface BackendState extends Counts {
  readonly spec: BackendSpec;
  /** `draining` is no longer in the list, and its last requests run. */
  readonly state: RestState['kind'] | 'draining';
  /** Until it may be tried again. */
  readonly restMs: number;
  readonly reason: ErrorCode | null;
  readonly running: number;
  /** Requests that wait for a place here or elsewhere. */
  readonly waiting: number;
  readonly rests: number;
}

/** How the requests at a backend have ended. */
interface Counts {
  /** Also those that it refused for a reason of the request. */
  readonly answered: number;
  readonly failed: number;
  /** The caller went first. */
  readonly cancelled: number;
}

export interface PlaceAsking {
  /** The first choice first. */
  readonly backends: readonly string[];
  /** Callers take turns where requests wait. */
  readonly caller: string;
  readonly signal: StopSignal;
}

/** One try of a request, which has a place at a backend. */
export interface Try {
  readonly spec: BackendSpec;
  readonly chat: SingleBackend;
  /** A start that took longer than `slowMs` counts as a failure when it comes to rests. */
  answered(slowMs: number): void;
  /** Must be called last. The place is free, and the backend rests if it has failed. */
  end(how: TryEnd): void;
}

export type TryEnd =
  | { readonly kind: 'whole' }
  /** The caller has left or was refused, which says nothing of the backend. */
  | { readonly kind: 'left' }
  /** The request could not go there, and the backend has not heard of it. */
  | { readonly kind: 'unasked' }
  | { readonly kind: 'failed'; readonly thrown: unknown };

export interface Backends extends RoutedInputCounter, Connected {
  /** What at least one of them refuses. */
  readonly refusals: KnownRefusals;
  readonly routes: Routes;
  /** What routes are made from, for another thread. */
  routing(): Routing;
  /** In the order of the file. */
  readonly specs: readonly BackendSpec[];
  states(): readonly BackendState[];
  /** Whether one of them may be asked now. */
  isAnyOpen(): boolean;
  /** Takes a place at the best backend of the route that was not tried before. Throws ApiError. */
  begin(asking: PlaceAsking, tried?: ReadonlySet<string>): Try | Promise<Try>;
  /** Later requests go by the new list. Running ones end where they are. */
  replace(specs: readonly BackendSpec[]): void;
  close(): Promise<void>;
}

interface Backend {
  spec: BackendSpec;
  readonly chat: SingleBackend;
  readonly rest: Rest;
  readonly counts: Record<keyof Counts, number>;
  running: number;
  /** Why it could not be reached, as `onUnreachable` was told. */
  unreachable: string | undefined;
}

/** Opens the backends of this list. */
export function createBackends(first: readonly BackendSpec[], options: BackendsOptions): Backends {
  const { keyOwner, nowMs } = options;
  const queue = createFairQueue<Backend>();
  let listed: ReadonlyMap<string, Backend> = new Map();
  /** They are no longer in the list, and requests run there. */
  const draining = new Set<Backend>();
  let specs: readonly BackendSpec[] = [];
  let routes = createRoutes([]);
  replace(first);

  function open(spec: BackendSpec): Backend {
    const { name: backend } = spec;
    const rest = createRest({ nowMs, onChange: (change) => options.onChange({ backend, ...change }) });
    const counts = { answered: 0, failed: 0, cancelled: 0 };
    return { spec, chat: options.open(spec), rest, counts, running: 0, unreachable: undefined };
  }

  function replace(next: readonly BackendSpec[]): void {
    const before = listed;
    listed = new Map(next.map((spec) => [spec.name, keep(before.get(spec.name), spec) ?? open(spec)]));
    specs = next;
    routes = createRoutes(next, (name) => {
      const backend = listed.get(name);
      return backend !== undefined && isAvailable(backend);
    });
    for (const backend of before.values()) {
      if (isListed(backend)) continue;
      draining.add(backend);
      closeIfDone(backend);
    }
    for (const backend of listed.values()) offerPlaces(backend);
  }

  /** What was learnt of a backend holds as long as it is the same server. */
  function keep(known: Backend | undefined, spec: BackendSpec): Backend | undefined {
    if (known === undefined || !isSameServer(known.spec, spec)) return undefined;
    known.spec = spec;
    return known;
  }

  function isListed(backend: Backend): boolean {
    return listed.get(backend.spec.name) === backend;
  }

  function closeIfDone(backend: Backend): void {
    if (backend.running === 0 && draining.delete(backend)) void backend.chat.close();
  }

  function begin({ backends, caller, signal }: PlaceAsking, tried?: ReadonlySet<string>): Try | Promise<Try> {
    // Whoever left before any backend was asked is charged nothing, and takes no place.
    signal.throwIfAborted();
    // Most requests find their first choice free.
    for (const name of backends) {
      const backend = tried?.has(name) === true ? undefined : listed.get(name);
      if (backend !== undefined && isAvailable(backend)) return toTry(take(backend));
    }
    // The list may change while the request waits.
    const wants = ({ spec }: Backend): boolean => backends.includes(spec.name) && tried?.has(spec.name) !== true;
    const candidates = [...listed.values()].filter(wants);
    if (!candidates.some(({ rest }) => rest.isOpen())) throw noneAvailable(candidates);
    return queue.wait({ caller, signal, wants, timeoutMs: options.queueTimeoutMs, expire: allBusy }).then(toTry);
  }

  function take(backend: Backend): Backend {
    backend.running += 1;
    backend.rest.begin();
    return backend;
  }

  function toTry(backend: Backend): Try {
    const { spec, chat, rest } = backend;
    const begunMs = nowMs();
    let isSlow = false;
    return {
      spec,
      chat,
      answered(slowMs) {
        isSlow = nowMs() - begunMs > slowMs;
        if (isSlow) rest.failed('upstream_timeout');
        else rest.answered();
        offerPlaces(backend);
      },
      end(how) {
        backend.running -= 1;
        judge(backend, how, isSlow);
        offerPlaces(backend);
        closeIfDone(backend);
      },
    };
  }

  /** Each place is taken in this turn, so that no newcomer has it before. */
  function offerPlaces(backend: Backend): void {
    while (queue.length > 0 && isListed(backend) && isAvailable(backend) && queue.offer(backend)) take(backend);
  }

  function judge(backend: Backend, how: TryEnd, isSlow: boolean): void {
    const { spec, rest, counts } = backend;
    if (how.kind === 'left' || how.kind === 'unasked') {
      if (how.kind === 'left') counts.cancelled += 1;
      return rest.leave();
    }
    tellIfUnreachable(backend, how);
    if (how.kind === 'whole') {
      counts.answered += 1;
      return isSlow ? undefined : rest.succeeded();
    }
    const { thrown } = how;
    const blame = blameOf(thrown);
    // A limit of the caller's own key says nothing to other callers.
    const isOfCaller = keyOwner === 'caller' && thrown instanceof ApiError && thrown.status === 429;
    const hasFailed = blame !== 'none' && !isOfCaller;
    counts[hasFailed ? 'failed' : 'answered'] += 1;
    const { code } = toApiError(thrown);
    if (!hasFailed || spec.isOnly) rest.answered();
    else if (blame === 'failed') rest.failed(code);
    else rest.refused(code, retryAfterMsOf(thrown));
  }

  function tellIfUnreachable(backend: Backend, how: TryEnd): void {
    const why = how.kind === 'failed' ? unreachableReason(how.thrown) : undefined;
    if (why !== undefined && why.reason !== backend.unreachable) options.onUnreachable?.(backend.spec, why);
    backend.unreachable = why?.reason;
  }

  return {
    routes: { choose: (model, affinity) => routes.choose(model, affinity) },
    get specs() {
      return specs;
    },
    routing: () => ({
      // A thread needs no addresses and no keys.
      backends: specs.map(({ name, dialect, upstreamDialect, modelAliases, models, weight }) => ({
        name,
        dialect,
        upstreamDialect,
        modelAliases,
        models,
        weight,
      })),
      unavailable: [...listed.values()].filter((backend) => !isAvailable(backend)).map(({ spec }) => spec.name),
    }),
    states: () =>
      [...listed.values(), ...draining].map((backend) => {
        const { spec, rest, counts, running } = backend;
        return {
          spec,
          state: draining.has(backend) ? 'draining' : rest.state,
          restMs: rest.waitMs(),
          reason: rest.reason,
          rests: rest.rests,
          ...counts,
          running,
          waiting: queue.count(backend),
        };
      }),
    isAnyOpen: () => [...listed.values()].some(({ rest }) => rest.isOpen()),
    refusals: {
      any: () => [...listed.values()].some(({ chat }) => chat.refusals.any()),
      forModel: (model) => [...new Set([...listed.values()].flatMap(({ chat }) => chat.refusals.forModel(model)))],
    },
    async count(request, { route, ...asking }) {
      const backend = listed.get(route.alike[0] ?? '');
      if (backend === undefined) return undefined;
      return backend.chat.count(request, { ...asking, headers: withKey(asking.headers, backend.spec) });
    },
    begin,
    replace,
    connections() {
      const all = [...listed.values()].map(({ chat }) => chat.connections());
      return {
        busy: all.reduce((sum, { busy }) => sum + busy, 0),
        idle: all.reduce((sum, { idle }) => sum + idle, 0),
      };
    },
    async close() {
      await Promise.all([...listed.values()].map(({ chat }) => chat.close()));
    },
  };
}

function isAvailable({ spec, rest, running }: Backend): boolean {
  return rest.isOpen() && (spec.maxConcurrent === null || running < spec.maxConcurrent);
}

function isSameServer(one: BackendSpec, other: BackendSpec): boolean {
  return (
    one.baseUrl === other.baseUrl &&
    one.apiKey === other.apiKey &&
    one.apiKeyEnv === other.apiKeyEnv &&
    one.upstreamDialect === other.upstreamDialect &&
    isDeepStrictEqual(one.timeouts, other.timeouts)
  );
}

function noneAvailable(candidates: readonly Backend[]): ApiError {
  const waitMs = Math.min(...candidates.map(({ rest }) => rest.waitMs()));
  const seconds = Number.isFinite(waitMs) ? Math.max(1, Math.ceil(waitMs / 1000)) : 1;
  return new ApiError('no_backend_available', { headers: { 'retry-after': String(seconds) } });
}

function allBusy(): ApiError {
  return new ApiError('server_overloaded', {
    message: 'All backends of this model are busy.',
    headers: { 'retry-after': '1' },
  });
}
