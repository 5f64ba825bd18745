/** Keeps the backends: who has a place, who rests, and which one a request gets. */

import { isDeepStrictEqual } from 'node:util';
import { ApiError, toApiError, type ErrorCode } from '../core/errors.ts';
import type { Connected } from '../core/chat.ts';
import {
  type BackendPolicy,
  createRoutes,
  type BackendSpec,
  type Route,
  type Routes,
  type Routing,
} from '../core/routes.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import { blameOf, hasRefused } from './blame.ts';
import type { AskOptions, ChatBackend, ChatRelay } from './chat.ts';
import { unreachableReason } from './connection-failures.ts';
import type { Forward } from './forward/forward.ts';
import type { InputCounter } from './input-counter.ts';
import type { KnownRefusals } from './refused-fields.ts';
import type { ChatBody } from '../core/encoded-chat.ts';
import { createFailingCallers } from './failing-callers.ts';
import type { KeyOwner } from './request-headers.ts';
import { createFairQueue } from './fair-queue.ts';
import { withKey } from './request-headers.ts';
import { createLastCallers } from './last-callers.ts';
import { retryAfterMsOf } from './reply-headers.ts';
import { createRest, type Rest, type RestChange, type RestState } from './rest.ts';

export interface SingleBackend extends ChatBackend, ChatRelay, Connected {
  readonly refusals: KnownRefusals;
  readonly count: InputCounter['count'];
  readonly forward: Forward['forward'];
  /** Opens connections of its own. */
  readonly forwards: Connected;
}

export interface RoutedInputCounter {
  /** Asks the first choice. Returns undefined if it cannot tell. */
  count(chat: ChatBody, asking: AskOptions & { readonly route: Pick<Route, 'alike'> }): Promise<number | undefined>;
}

export interface BackendsOptions {
  readonly keyOwner: KeyOwner;
  readonly policy: () => Pick<BackendPolicy, 'queueTimeoutMs'>;
  readonly nowMs: () => number;
  readonly open: (spec: BackendSpec) => SingleBackend;
  /** Returns the backend with the key that it has at the moment. */
  readonly withCurrentKey?: (spec: BackendSpec) => BackendSpec;
  readonly onChange: (change: BackendChange) => void;
  /** Is called when no connection could be made, and not again for the same reason until an answer has come. */
  readonly onUnreachable?: (spec: BackendSpec, why: NonNullable<ReturnType<typeof unreachableReason>>) => void;
}

export interface BackendChange extends RestChange {
  readonly backend: string;
  /** Where this one alone rests. */
  readonly model?: string;
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
  readonly model: string;
  /** Callers take turns where requests wait, and what one of them provokes stops no other. */
  readonly caller: string;
  readonly signal: StopSignal;
}

/** One try of a request, which has a place at a backend. */
export interface Try {
  readonly spec: BackendSpec;
  readonly chat: SingleBackend;
  /** A start that took longer than `slowMs` counts as a failure when it comes to rests. */
  answered(slowMs: number): void;
  /** Returns what the caller is told: where all rest, and this one has refused the request too, when to ask again. */
  tell(thrown: unknown): unknown;
  /** The place is free, while it is not yet known what a failure says of the backend. */
  free(): void;
  /** Must be called last. The place is free, and the backend rests if it has failed. */
  end(how: TryEnd): void;
}

export type TryEnd =
  | { readonly kind: 'whole' }
  /** The caller has left or was refused, which says nothing of the backend. */
  | { readonly kind: 'left' }
  /** The request could not go there, and the backend has not heard of it. */
  | { readonly kind: 'unasked' }
  /** Where it `failedElsewhere` too, the request is the reason. */
  | { readonly kind: 'failed'; readonly thrown: unknown; readonly failedElsewhere?: boolean };

export interface Backends extends RoutedInputCounter, Connected {
  /** What at least one of them refuses. */
  readonly refusals: KnownRefusals;
  /** Those that forward. */
  readonly forwards: Connected;
  readonly routes: Routes;
  /** What routes are made from, for another thread. */
  routing(): Routing;
  /** In the order of the file. */
  readonly specs: readonly BackendSpec[];
  states(): readonly BackendState[];
  /**
   * Takes a place at the best backend of the route that was not tried before. Where all of them rest and none was tried, that is the
   * one whose rest is the first to end. Throws ApiError.
   */
  begin(asking: PlaceAsking, tried?: ReadonlySet<string>): Try | Promise<Try>;
  /** Later requests go by the new list. Running ones end where they are. */
  replace(specs: readonly BackendSpec[]): void;
  close(): Promise<void>;
}

interface Backend {
  spec: BackendSpec;
  readonly chat: SingleBackend;
  readonly rest: Rest;
  /** Of the models that were refused there. */
  readonly modelRests: Map<string, Rest>;
  readonly counts: Record<keyof Counts, number>;
  running: number;
  /** How many of these each caller has. */
  readonly places: Map<string, number>;
  /** Why it could not be reached, as `onUnreachable` was told. */
  unreachable: string | undefined;
}

interface Judged extends Pick<PlaceAsking, 'model' | 'caller'> {
  readonly begunMs: number;
  readonly isSlow: boolean;
}

/** Opens the backends of this list. */
export function createBackends(first: readonly BackendSpec[], options: BackendsOptions): Backends {
  const { keyOwner, nowMs } = options;
  const queue = createFairQueue<Backend, Try>();
  const asked = createLastCallers(nowMs);
  const failing = createFailingCallers();
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
    return {
      spec,
      chat: options.open(spec),
      rest,
      modelRests: new Map(),
      counts,
      running: 0,
      places: new Map(),
      unreachable: undefined,
    };
  }

  function replace(named: readonly BackendSpec[]): void {
    const next = named.map((spec) => options.withCurrentKey?.(spec) ?? spec);
    const before = listed;
    listed = new Map(next.map((spec) => [spec.name, keep(before.get(spec.name), spec) ?? open(spec)]));
    specs = next;
    routes = createRoutes(next, (name, model) => {
      const backend = listed.get(name);
      return backend !== undefined && hasRoom(backend) && isOpen(backend, model);
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

  function begin(asking: PlaceAsking, tried?: ReadonlySet<string>): Try | Promise<Try> {
    const { backends, model, caller, signal } = asking;
    // Whoever left before any backend was asked is charged nothing, and takes no place.
    signal.throwIfAborted();
    asked.note(caller);
    // Most requests find their first choice free.
    for (const name of backends) {
      const backend = tried?.has(name) === true ? undefined : listed.get(name);
      if (backend !== undefined && hasRoomFor(backend, caller) && isOpen(backend, model)) return take(backend, asking);
    }
    const isFirstTry = tried === undefined || tried.size === 0;
    if (allRest()) {
      if (!isFirstTry || candidates().length === 0) throw noneAvailable(candidates(), model);
      const able = candidates().filter((backend) => hasRoomFor(backend, caller));
      const [best] = able.sort(byHope);
      if (best !== undefined) return take(best, asking);
    }
    return queue.wait({
      caller,
      signal,
      wants: (backend) => candidates().includes(backend) && (isOpen(backend, model) || (isFirstTry && allRest())),
      take: (backend) => take(backend, asking),
      timeoutMs: options.policy().queueTimeoutMs,
      expire: allBusy,
    });

    /** The list may change while the request waits. */
    function candidates(): Backend[] {
      const all = backends.map((name) => (tried?.has(name) === true ? undefined : listed.get(name)));
      return all.filter((backend) => backend !== undefined);
    }

    /** What others have seen may not hold for this request, so that it is sent all the same. */
    function allRest(): boolean {
      return !candidates().some((backend) => isOpen(backend, model));
    }

    /** One that could not be reached is no hope for anybody. */
    function byHope(one: Backend, other: Backend): number {
      const isGone = ({ rest }: Backend): number => Number(rest.reason === 'upstream_unreachable');
      return isGone(one) - isGone(other) || waitMsOf(one, model) - waitMsOf(other, model);
    }
  }

  /**
   * Whether this caller may have one more place. Where others have asked lately, the last quarter is for those who have less than
   * an equal part. A caller whose requests keep failing has one place at a time.
   */
  function hasRoomFor(backend: Backend, caller: string): boolean {
    const { maxConcurrent, isOnly } = backend.spec;
    const own = placesOf(backend, caller);
    if (own > 0 && !isOnly && failing.isSlow(caller)) return false;
    if (maxConcurrent === null) return true;
    const free = maxConcurrent - backend.running;
    if (free <= 0) return false;
    if (own === 0 || free > Math.floor(maxConcurrent / 4) || !asked.hasOther(caller, LATELY_MS)) return true;
    return own < Math.floor(maxConcurrent / Math.min(4, Math.max(2, backend.places.size)));
  }

  /** Takes a place. */
  function take(backend: Backend, { model, caller }: PlaceAsking): Try {
    const { spec, chat, rest } = backend;
    const begunMs = nowMs();
    const isLastResort = !isOpen(backend, model);
    let isSlow = false;
    let isFree = false;
    backend.running += 1;
    backend.places.set(caller, placesOf(backend, caller) + 1);
    if (!isLastResort) {
      rest.begin();
      backend.modelRests.get(model)?.begin();
    }

    function free(): void {
      if (isFree) return;
      isFree = true;
      backend.running -= 1;
      const left = placesOf(backend, caller) - 1;
      if (left > 0) backend.places.set(caller, left);
      else backend.places.delete(caller);
      offerPlaces(backend);
      closeIfDone(backend);
    }

    function endModelRest(): void {
      const modelRest = backend.modelRests.get(model);
      modelRest?.succeeded(caller, begunMs);
      if (modelRest?.state === 'up') backend.modelRests.delete(model);
    }

    return {
      spec,
      chat,
      answered(slowMs) {
        isSlow = nowMs() - begunMs > slowMs;
        if (isSlow) rest.failed('upstream_timeout', caller);
        else rest.answered();
        endModelRest();
        if (failing.clear(caller)) for (const each of listed.values()) offerPlaces(each);
        else offerPlaces(backend);
      },
      tell: (thrown) => (isLastResort && hasRefused(thrown) ? noneAvailable([backend], model) : thrown),
      free,
      end(how) {
        judge(backend, { model, caller, begunMs, isSlow }, how);
        free();
      },
    };
  }

  /** Each place is taken in this turn, so that no newcomer has it before. */
  function offerPlaces(backend: Backend): void {
    const rankOf = (caller: string): number => (hasRoomFor(backend, caller) ? placesOf(backend, caller) : Infinity);
    let isWanted = queue.length > 0;
    while (isWanted && isListed(backend) && hasRoom(backend)) isWanted = queue.offer(backend, rankOf);
  }

  function judge(backend: Backend, of: Judged, how: TryEnd): void {
    const { spec, rest, counts } = backend;
    if (how.kind === 'left' || how.kind === 'unasked') {
      if (how.kind === 'left') counts.cancelled += 1;
      backend.modelRests.get(of.model)?.leave();
      return rest.leave();
    }
    tellIfUnreachable(backend, how);
    if (how.kind === 'whole') {
      counts.answered += 1;
      return of.isSlow ? undefined : rest.succeeded(of.caller, of.begunMs);
    }
    const { thrown, failedElsewhere = false } = how;
    // A limit of the caller's own key says nothing to other callers.
    const isOfCaller = keyOwner === 'caller' && thrown instanceof ApiError && thrown.status === 429;
    const blame = isOfCaller ? 'request' : blameOf(thrown);
    counts[blame === 'request' ? 'answered' : 'failed'] += 1;
    if (blame === 'answer') failing.note(of.caller);
    const { code } = toApiError(thrown);
    const retryAfterMs = retryAfterMsOf(thrown);
    if (blame === 'request' || spec.isOnly) rest.answered();
    else if (blame === 'connection') rest.refused(code, retryAfterMs);
    else if (blame === 'model') restModel(backend, of.model, code, retryAfterMs);
    else if (failedElsewhere) rest.doubted();
    else rest.failed(code, of.caller, retryAfterMs);
  }

  /** A limit is of one model, and the others are answered as before. */
  function restModel(backend: Backend, model: string, code: ErrorCode, retryAfterMs: number | undefined): void {
    const { modelRests, spec } = backend;
    backend.rest.answered();
    let rest = modelRests.get(model);
    if (rest === undefined) {
      const [oldest] = modelRests.keys();
      if (oldest !== undefined && modelRests.size >= MAX_MODEL_RESTS) modelRests.delete(oldest);
      rest = createRest({ nowMs, onChange: (change) => options.onChange({ backend: spec.name, model, ...change }) });
      modelRests.set(model, rest);
    }
    rest.refused(code, retryAfterMs);
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
    connections: () => sumOf([...listed.values()].map(({ chat }) => chat)),
    forwards: { connections: () => sumOf([...listed.values()].map(({ chat }) => chat.forwards)) },
    async close() {
      await Promise.all([...listed.values()].map(({ chat }) => chat.close()));
    },
  };
}

/** A caller who was here within this time may come again. */
const LATELY_MS = 3_600_000;
/** Of one backend. A caller can name as many as it likes. */
const MAX_MODEL_RESTS = 1000;

function sumOf(pools: readonly Connected[]): ReturnType<Connected['connections']> {
  const all = pools.map((pool) => pool.connections());
  return {
    busy: all.reduce((sum, { busy }) => sum + busy, 0),
    idle: all.reduce((sum, { idle }) => sum + idle, 0),
  };
}

function hasRoom({ spec, running }: Backend): boolean {
  return spec.maxConcurrent === null || running < spec.maxConcurrent;
}

function placesOf({ places }: Backend, caller: string): number {
  return places.get(caller) ?? 0;
}

function isOpen({ rest, modelRests }: Backend, model: string): boolean {
  return rest.isOpen() && modelRests.get(model)?.isOpen() !== false;
}

function isAvailable(backend: Backend): boolean {
  return hasRoom(backend) && backend.rest.isOpen();
}

function waitMsOf({ rest, modelRests }: Backend, model: string): number {
  return Math.max(rest.waitMs(), modelRests.get(model)?.waitMs() ?? 0);
}

function isSameServer(one: BackendSpec, other: BackendSpec): boolean {
  return (
    one.baseUrl === other.baseUrl &&
    one.apiKeyEnv === other.apiKeyEnv &&
    one.apiKeyFile === other.apiKeyFile &&
    // A key in a file changes while the backend stays.
    (one.apiKeyFile !== undefined || one.apiKey === other.apiKey) &&
    one.upstreamDialect === other.upstreamDialect &&
    isDeepStrictEqual(one.timeouts, other.timeouts)
  );
}

function noneAvailable(candidates: readonly Backend[], model: string): ApiError {
  const waitMs = Math.min(...candidates.map((backend) => waitMsOf(backend, model)));
  const seconds = Number.isFinite(waitMs) ? Math.max(1, Math.ceil(waitMs / 1000)) : 1;
  return new ApiError('no_backend_available', { headers: { 'retry-after': String(seconds) } });
}

function allBusy(): ApiError {
  return new ApiError('server_overloaded', {
    message: 'All backends of this model are busy.',
    headers: { 'retry-after': '1' },
  });
}
