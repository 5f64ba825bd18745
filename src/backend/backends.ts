/** Keeps the backends: who has a slot, who rests, and which one a request gets. */

import type { Connected } from '../core/chat.ts';
import type { ChatBody } from '../core/encoded-chat.ts';
import { ApiError, type ErrorCode } from '../core/errors.ts';
import {
  createRoutes,
  type BackendPolicy,
  type BackendSpec,
  type RouteToAsk,
  type Routes,
  type Routing,
} from '../core/routes.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import type { AskOptions, ChatBackend, ChatRelay } from './chat.ts';
import type { Addresses } from './addresses.ts';
import { blameOf, hasRefused } from './choice/blame.ts';
import { createFailingCallers } from './choice/failing-callers.ts';
import { createLastCallers } from './choice/last-callers.ts';
import { createSlots, type Slots } from './choice/slots.ts';
import { createSlotQueue } from './choice/queue.ts';
import type { RestChange, RestState } from './choice/rest.ts';
import { createRests, type RestingRequest, type Rests } from './choice/rests.ts';
import { unreachableReason } from './connection-failures.ts';
import type { Forward } from './forward/forward.ts';
import type { InputCounter } from './input-counter.ts';
import type { KnownRefusals } from './refused-fields.ts';
import { idOf, isIn, isSameServer, replicasOf, toRouted } from './replicas.ts';
import { withKey, type KeyOwner } from './request-headers.ts';

export interface SingleBackend extends ChatBackend, ChatRelay, Connected {
  readonly refusals: KnownRefusals;
  readonly count: InputCounter['count'];
  readonly forward: Forward['forward'];
  /** Opens connections of its own. */
  readonly forwards: Connected;
}

export interface RoutedInputCounter {
  /** Asks the first choice. Returns undefined if it cannot tell. */
  count(chat: ChatBody, asking: AskOptions & { readonly route: RouteToAsk }): Promise<number | undefined>;
}

export interface BackendsOptions {
  readonly keyOwner: KeyOwner;
  readonly policy: () => BackendPolicy;
  readonly nowMs: () => number;
  readonly open: (spec: BackendSpec) => SingleBackend;
  /** Returns the backend with the key that it has at the moment. */
  readonly withCurrentKey?: (spec: BackendSpec) => BackendSpec;
  /** Without it each backend has the addresses that its connections find. */
  readonly addresses?: Addresses;
  readonly onChange: (change: BackendChange) => void;
  /** Is called when no connection could be made, and not again for the same reason until an answer has come. */
  readonly onUnreachable?: (spec: BackendSpec, why: NonNullable<ReturnType<typeof unreachableReason>>) => void;
}

export interface BackendChange extends RestChange {
  readonly backend: string;
  readonly address?: string;
  /** Where this one alone rests. */
  readonly model?: string;
}

export interface BackendState extends Counts, RestingState {
  readonly spec: BackendSpec;
  /** Those of its name, if it has several. */
  readonly addresses: readonly (RestingState & { readonly address: string })[];
  readonly running: number;
  /** Requests that wait for a slot here or elsewhere. */
  readonly waiting: number;
}

export interface RestingState {
  /** `draining` is no longer in the list, and its last requests run. */
  readonly state: RestState['kind'] | 'draining';
  /** Until it may be tried again. */
  readonly restMs: number;
  readonly reason: ErrorCode | null;
}

/** How the requests at a backend have ended. */
interface Counts {
  /** Also those that it refused for a reason of the request. */
  readonly answered: number;
  readonly failed: number;
  /** The caller went first. */
  readonly cancelled: number;
  readonly rests: number;
}

export interface SlotRequest {
  /** The first choice first. */
  readonly backends: readonly string[];
  readonly model: string;
  /** Callers take turns where requests wait, and what one of them provokes stops no other. */
  readonly caller: string;
  readonly signal: StopSignal;
}

/** One try of a request, which has a slot at a backend. */
export interface Try {
  /** Names the replica in a route. */
  readonly id: string;
  readonly spec: BackendSpec;
  readonly chat: SingleBackend;
  /** A start that took longer than `slowMs` counts as a failure when it comes to rests. */
  answered(slowMs: number): void;
  /** Returns what the caller is told: where all rest, and this one has refused the request too, when to ask again. */
  toShown(thrown: unknown): unknown;
  /** The slot is free, while it is not yet known what a failure says of the backend. */
  free(): void;
  /** Must be called last. The slot is free, and the backend rests if it has failed. */
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
   * Takes a slot at the best backend of the route that was not tried before. Where all of them rest and none was tried, that is the
   * one whose rest is the first to end. Throws ApiError.
   */
  begin(asking: SlotRequest, tried?: ReadonlySet<string>): Try | Promise<Try>;
  /** Later requests go by the new list. Running ones end where they are. */
  replace(specs: readonly BackendSpec[]): void;
  close(): Promise<void>;
}

interface Backend {
  spec: BackendSpec;
  readonly chat: SingleBackend;
  readonly rests: Rests;
  readonly slots: Slots;
  readonly counts: Record<keyof Counts, number>;
  /** Why it could not be reached, as `onUnreachable` was told. */
  unreachable: string | undefined;
}

interface Judged extends RestingRequest {
  readonly isSlow: boolean;
}

/** Opens the backends of this list. */
export function createBackends(first: readonly BackendSpec[], options: BackendsOptions): Backends {
  const { keyOwner, nowMs } = options;
  const queue = createSlotQueue<Backend, Try>();
  const asked = createLastCallers(nowMs);
  const failing = createFailingCallers();
  let listed: ReadonlyMap<string, Backend> = new Map();
  /** They are no longer in the list, and requests run there. */
  const draining = new Set<Backend>();
  let specs: readonly BackendSpec[] = [];
  let turns = 0;
  let routes = createRoutes([]);
  replace(first);
  options.addresses?.onChange(spread);

  function open(first: BackendSpec, counts: Backend['counts']): Backend {
    const { name, address } = first;
    const replica = { backend: name, ...(address !== undefined && { address }) };
    const backend: Backend = {
      spec: first,
      chat: options.open(first),
      rests: createRests({
        nowMs,
        onChange(change) {
          if (change.state === 'resting' && !('model' in change)) counts.rests += 1;
          options.onChange({ ...replica, ...change });
        },
      }),
      slots: createSlots(() => backend.spec.maxConcurrent, asked),
      counts,
      unreachable: undefined,
    };
    return backend;
  }

  function replace(named: readonly BackendSpec[]): void {
    specs = named.map((spec) => options.withCurrentKey?.(spec) ?? spec);
    spread();
  }

  /** Each address of a name is a backend of its own: it rests, has slots and is the first choice by itself. */
  function spread(): void {
    const next = specs.flatMap((spec) => replicasOf(spec, options.addresses?.of(spec) ?? []));
    const before = listed;
    const countsOf = (spec: BackendSpec): Backend['counts'] =>
      [...before.values()].find((known) => known.spec.name === spec.name && isSameServer(known.spec, spec))?.counts ?? {
        answered: 0,
        failed: 0,
        cancelled: 0,
        rests: 0,
      };
    listed = new Map(
      next.map((spec) => [idOf(spec), keep(before.get(idOf(spec)), spec) ?? open(spec, countsOf(spec))]),
    );
    routes = createRoutes(next.map(toRouted), (id, model) => {
      const backend = listed.get(id);
      return backend !== undefined && backend.slots.hasRoom() && backend.rests.isOpenFor(model);
    });
    for (const backend of before.values()) {
      if (isListed(backend)) continue;
      draining.add(backend);
      closeIfDone(backend);
    }
    for (const backend of listed.values()) offerSlots(backend);
  }

  /** What was learnt of a backend holds as long as it is the same server. */
  function keep(known: Backend | undefined, spec: BackendSpec): Backend | undefined {
    if (known === undefined || !isSameServer(known.spec, spec)) return undefined;
    known.spec = spec;
    return known;
  }

  function isListed(backend: Backend): boolean {
    return listed.get(idOf(backend.spec)) === backend;
  }

  function closeIfDone(backend: Backend): void {
    if (backend.slots.running === 0 && draining.delete(backend)) void backend.chat.close();
  }

  function begin(asking: SlotRequest, tried?: ReadonlySet<string>): Try | Promise<Try> {
    const { backends, model, caller, signal } = asking;
    // Whoever left before any backend was asked is charged nothing, and takes no slot.
    signal.throwIfAborted();
    asked.note(caller);
    // Most requests find their first choice free.
    for (const id of backends) {
      const backend = tried?.has(id) === true ? undefined : listed.get(id);
      if (backend === undefined || !hasRoomFor(backend, caller)) continue;
      if (backend.rests.isOpenFor(model)) return take(backend, asking);
    }
    // A route that names no address, or those of before, takes turns over the ones there are.
    const others = backends.some((id) => listed.has(id)) ? [] : candidates();
    for (const [index] of others.entries()) {
      const backend = others[(index + turns) % others.length];
      if (backend === undefined || !hasRoomFor(backend, caller) || !backend.rests.isOpenFor(model)) continue;
      turns += 1;
      return take(backend, asking);
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
      wants: (backend) =>
        candidates().includes(backend) && (backend.rests.isOpenFor(model) || (isFirstTry && allRest())),
      take: (backend) => take(backend, asking),
      timeoutMs: options.policy().queueTimeoutMs,
      expire: allBusy,
    });

    /** The list may change while the request waits. */
    function candidates(): Backend[] {
      const known = backends.flatMap((id) => listed.get(id) ?? []);
      const all = known.length > 0 ? known : [...listed.values()].filter(({ spec }) => isIn(backends, spec));
      return all.filter(({ spec }) => tried?.has(idOf(spec)) !== true);
    }

    /** What others have seen may not hold for this request, so that it is sent all the same. */
    function allRest(): boolean {
      return !candidates().some(({ rests }) => rests.isOpenFor(model));
    }

    /** One that could not be reached is no hope for anybody. */
    function byHope({ rests: one }: Backend, { rests: other }: Backend): number {
      const isGone = ({ own }: Rests): number => Number(own.reason === 'upstream_unreachable');
      return isGone(one) - isGone(other) || one.waitMs(model) - other.waitMs(model);
    }
  }

  /** A caller whose requests keep failing has one slot at a time. */
  function hasRoomFor({ spec, slots }: Backend, caller: string): boolean {
    if (slots.of(caller) > 0 && !spec.isOnly && failing.isSlow(caller)) return false;
    return slots.hasRoomFor(caller);
  }

  /** Takes a slot. */
  function take(backend: Backend, { model, caller }: SlotRequest): Try {
    const { spec, chat, rests, slots } = backend;
    const request = { model, caller, begunMs: nowMs() };
    const isLastResort = !rests.isOpenFor(model);
    let isSlow = false;
    let isFree = false;
    slots.take(caller);
    if (!isLastResort) rests.begin(model);

    function free(): void {
      if (isFree) return;
      isFree = true;
      slots.free(caller);
      offerSlots(backend);
      closeIfDone(backend);
    }

    return {
      id: idOf(spec),
      spec,
      chat,
      answered(slowMs) {
        isSlow = nowMs() - request.begunMs > slowMs;
        rests.answered(request, isSlow);
        if (failing.clear(caller)) for (const each of listed.values()) offerSlots(each);
        else offerSlots(backend);
      },
      toShown: (thrown) => (isLastResort && hasRefused(thrown) ? noneAvailable([backend], model) : thrown),
      free,
      end(how) {
        judge(backend, { ...request, isSlow }, how);
        free();
      },
    };
  }

  /** Each slot is taken in this turn, so that no newcomer has it before. */
  function offerSlots(backend: Backend): void {
    const rankOf = (caller: string): number => (hasRoomFor(backend, caller) ? backend.slots.of(caller) : Infinity);
    let isWanted = queue.length > 0;
    while (isWanted && isListed(backend) && backend.slots.hasRoom()) isWanted = queue.offer(backend, rankOf);
  }

  function judge(backend: Backend, request: Judged, how: TryEnd): void {
    const { spec, rests, counts } = backend;
    if (how.kind === 'left' || how.kind === 'unasked') {
      if (how.kind === 'left') counts.cancelled += 1;
      return rests.leave(request.model);
    }
    reportIfUnreachable(backend, how);
    if (how.kind === 'whole') {
      counts.answered += 1;
      return request.isSlow ? undefined : rests.own.succeeded(request.caller, request.begunMs);
    }
    const { thrown, failedElsewhere = false } = how;
    // A limit of the caller's own key says nothing to other callers.
    const isOfCaller = keyOwner === 'caller' && thrown instanceof ApiError && thrown.status === 429;
    const blame = isOfCaller ? 'request' : blameOf(thrown);
    counts[blame === 'request' ? 'answered' : 'failed'] += 1;
    if (blame === 'answer') failing.note(request.caller);
    if (blame === 'connection' && spec.address !== undefined) options.addresses?.refresh();
    const isAlone = spec.isOnly && spec.address === undefined;
    rests.failed(request, { thrown, failedElsewhere }, isAlone ? 'request' : blame);
  }

  function reportIfUnreachable(backend: Backend, how: TryEnd): void {
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
      backends: [...listed.values()].map(({ spec }) => toRouted(spec)),
      unavailable: [...listed.values()]
        .filter(({ slots, rests }) => !slots.hasRoom() || !rests.own.isOpen())
        .map(({ spec }) => idOf(spec)),
    }),
    states: () =>
      [...Map.groupBy([...listed.values(), ...draining], ({ counts }) => counts)].map(([counts, replicas]) => {
        const open = replicas
          .filter(isListed)
          .toSorted((one, other) => one.rests.own.waitMs() - other.rests.own.waitMs());
        const best = open.find(({ rests }) => rests.own.state === 'up') ?? open[0] ?? replicas[0];
        if (best === undefined) throw new Error('a group has a replica');
        return {
          spec: best.spec,
          ...restingOf(best),
          ...(open.length === 0 && { state: 'draining' }),
          addresses: open.flatMap((replica) => {
            const { address } = replica.spec;
            return address === undefined ? [] : { address, ...restingOf(replica) };
          }),
          ...counts,
          running: replicas.reduce((sum, { slots }) => sum + slots.running, 0),
          waiting: Math.max(...replicas.map((replica) => queue.count(replica))),
        };
      }),
    refusals: {
      any: () => [...listed.values()].some(({ chat }) => chat.refusals.any()),
      forModel: (model) => [...new Set([...listed.values()].flatMap(({ chat }) => chat.refusals.forModel(model)))],
    },
    async count(request, { route, ...asking }) {
      const backend =
        listed.get(route.alike[0] ?? '') ?? [...listed.values()].find(({ spec }) => isIn(route.alike, spec));
      if (backend === undefined) return undefined;
      return backend.chat.count(request, { ...asking, headers: withKey(asking.headers, backend.spec) });
    },
    begin,
    replace,
    connections: () => sumOf([...listed.values()].map(({ chat }) => chat)),
    forwards: { connections: () => sumOf([...listed.values()].map(({ chat }) => chat.forwards)) },
    async close() {
      options.addresses?.close();
      await Promise.all([...listed.values()].map(({ chat }) => chat.close()));
    },
  };
}

function restingOf({ rests: { own } }: Backend): RestingState {
  return { state: own.state, restMs: own.waitMs(), reason: own.reason };
}

function sumOf(pools: readonly Connected[]): ReturnType<Connected['connections']> {
  const all = pools.map((pool) => pool.connections());
  return {
    busy: all.reduce((sum, { busy }) => sum + busy, 0),
    idle: all.reduce((sum, { idle }) => sum + idle, 0),
  };
}

function noneAvailable(candidates: readonly Backend[], model: string): ApiError {
  const waitMs = Math.min(...candidates.map(({ rests }) => rests.waitMs(model)));
  const seconds = Number.isFinite(waitMs) ? Math.max(1, Math.ceil(waitMs / 1000)) : 1;
  return new ApiError('no_backend_available', { headers: { 'retry-after': String(seconds) } });
}

function allBusy(): ApiError {
  return new ApiError('server_overloaded', {
    message: 'All backends of this model are busy.',
    headers: { 'retry-after': '1' },
  });
}
