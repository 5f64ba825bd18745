/** Chooses the backend of a request, and another one while nothing has been said. */

import { isDeepStrictEqual } from 'node:util';
import { ApiError, toApiError, type ErrorCode } from '../core/errors.ts';
import type { ChatBatch, ChatChunk, Connected } from '../core/chat.ts';
import { saysNothing } from '../core/reply/chunk.ts';
import { createRoutes, type BackendSpec, type Route, type Routes, type Routing } from '../core/routes.ts';
import type {
  AnswerListener,
  AskOptions,
  BegunAnswer,
  ChatBackend,
  ChatRelay,
  RelayedRefusal,
  RelayRequest,
} from './chat.ts';
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
  readonly failover: 'safe' | 'any';
  readonly queueTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly nowMs: () => number;
  readonly open: (spec: BackendSpec) => SingleBackend;
  readonly onChange: (change: BackendChange) => void;
}

export interface BackendChange extends RestChange {
  readonly backend: string;
}

export interface RoutedAskOptions<Sent> extends AskOptions {
  readonly route: Pick<Route, 'backends' | 'alike' | 'upstreamDialect'>;
  /**
   * Returns the request as it is made for this backend, undefined if it cannot go there. Without it
   * only those that are alike are asked.
   */
  readonly move?: (backend: BackendSpec) => MaybePromise<Sent | undefined>;
  /** Callers take turns where requests wait. */
  readonly caller: string;
  /** Is called with each backend that is asked, and last with the one that answered. */
  readonly note: (backend: BackendSpec) => void;
}

type MaybePromise<Value> = Value | Promise<Value>;

export interface RoutedChatBackend {
  ask(
    request: ChatBody,
    options: RoutedAskOptions<ChatBody>,
    listener: Parameters<ChatBackend['ask']>[2],
  ): Promise<void>;
}

export interface RoutedChatRelay {
  relay(
    request: RelayRequest,
    options: RoutedAskOptions<RelayRequest>,
    listener: Parameters<ChatRelay['relay']>[2],
  ): Promise<RelayedRefusal | undefined>;
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

export interface Backends extends RoutedChatBackend, RoutedChatRelay, RoutedInputCounter, Connected {
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
  begin(asking: Beginning, tried?: ReadonlySet<string>): MaybePromise<Try>;
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
}

/** Of one request. */
export const MAX_TRIES = 3;
const WHOLE = { kind: 'whole' } as const;
const UNASKED = { kind: 'unasked' } as const;

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
    return { spec, chat: options.open(spec), rest, counts: { answered: 0, failed: 0, cancelled: 0 }, running: 0 };
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

  function begin({ backends, caller, signal }: Beginning, tried?: ReadonlySet<string>): MaybePromise<Try> {
    // Most requests find their first choice free.
    for (const name of backends) {
      const backend = tried?.has(name) === true ? undefined : listed.get(name);
      if (backend !== undefined && isAvailable(backend)) return toTry(take(backend));
    }
    // The list may change while the request waits.
    const wants = ({ spec }: Backend): boolean => backends.includes(spec.name) && tried?.has(spec.name) !== true;
    const candidates = [...listed.values()].filter(wants);
    if (!candidates.some(({ rest }) => rest.isOpen())) throw noneAvailable(candidates);
    signal.throwIfAborted();
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

  function judge({ spec, rest, counts }: Backend, how: TryEnd, isSlow: boolean): void {
    if (how.kind === 'left' || how.kind === 'unasked') {
      if (how.kind === 'left') counts.cancelled += 1;
      return rest.leave();
    }
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

  /** Tries one backend after the other while `work` has not called `begun`. */
  async function attempt<Sent>(
    first: Sent,
    asking: RoutedAskOptions<Sent>,
    isStream: boolean,
    work: Work<Sent>,
  ): Promise<RelayedRefusal | undefined> {
    const startedMs = nowMs();
    const { route, caller, signal } = asking;
    const backends = asking.move === undefined ? route.alike : route.backends;
    const beginning = { backends, caller, signal };
    const mostTries = Math.min(MAX_TRIES, backends.length);
    const tried = new Set<string>();
    let tries = 0;
    let hasMoved = false;
    let failure: Failure | undefined;
    let last: BackendSpec | undefined;
    const tellFirst = (told: Failure | undefined): RelayedRefusal => {
      // The backend whose failure is told is the one that answered.
      if (told !== undefined && told.by !== last) asking.note(told.by);
      return tell(told);
    };
    for (;;) {
      const place = await beginAgain(beginning, tried, failure);
      if (place === undefined) return tellFirst(failure);
      const { spec, chat } = place;
      tried.add(spec.name);
      // The file may say something else of the backend since the route was chosen.
      hasMoved ||= !route.alike.includes(spec.name) || spec.upstreamDialect !== route.upstreamDialect;
      const sent = hasMoved ? await moveTo(place, asking) : first;
      if (sent === undefined) continue;
      tries += 1;
      last = spec;
      asking.note(spec);
      const { firstByteTimeoutMs = options.firstByteTimeoutMs } = spec.timeouts;
      const leftMs = Math.max(1, startedMs + firstByteTimeoutMs - nowMs());
      // A time-out may have run, so a later try needs a share only where it may follow one.
      const shareMs = options.failover === 'any' ? leftMs / (mostTries - tries + 1) : leftMs;
      const given = { ...asking, headers: withKey(asking.headers, spec), firstByteTimeoutMs: shareMs };
      // The first byte of an answer in JSON comes with its last one, and no other backend may be faster.
      const slowMs = isStream && mostTries > 1 ? firstByteTimeoutMs / mostTries : Infinity;
      let hasBegun = false;
      const begun = (): void => {
        hasBegun = true;
        place.answered(slowMs);
      };
      const next = await failureOf(spec, work(sent, chat, given, begun));
      if (next === undefined) {
        place.end(WHOLE);
        return undefined;
      }
      const isLeft = asking.signal.aborted;
      place.end(isLeft ? { kind: 'left' } : { kind: 'failed', thrown: next.thrown });
      if (hasBegun || isLeft) return tell(next);
      // What may have run keeps the idempotency key, whatever a later try says.
      if (failure === undefined || !mayHaveRun(failure.thrown)) failure = next;
      if (tries === mostTries || !movesOn(next.thrown)) return tellFirst(failure);
    }
  }

  /** Returns undefined if the request cannot go there. */
  async function moveTo<Sent>(
    place: Try,
    { move, signal }: Pick<RoutedAskOptions<Sent>, 'move' | 'signal'>,
  ): Promise<Sent | undefined> {
    try {
      const sent = await move?.(place.spec);
      signal.throwIfAborted();
      if (sent === undefined) place.end(UNASKED);
      return sent;
    } catch (thrown) {
      place.end(UNASKED);
      throw thrown;
    }
  }

  /** Without another place the caller is told what the last backend said. */
  async function beginAgain(
    asking: Beginning,
    tried: ReadonlySet<string>,
    failure: Failure | undefined,
  ): Promise<Try | undefined> {
    try {
      return await begin(asking, tried);
    } catch (thrown) {
      if (failure === undefined || asking.signal.aborted) throw thrown;
      return undefined;
    }
  }

  function movesOn(thrown: unknown): boolean {
    const blame = blameOf(thrown);
    return blame === 'refused' || (blame === 'failed' && options.failover === 'any');
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
    async ask(request, asking, listener) {
      await attempt(request, asking, request.stream === true, async (sent, chat, given, begun) => {
        const told: AnswerListener = {
          begin(answer) {
            begun();
            listener.begin(answer);
          },
          take: (batch) => listener.take(batch),
        };
        const mayMoveOn = options.failover === 'any' && asking.route.backends.length > 1;
        if (!mayMoveOn) await chat.ask(sent, given, told);
        else await askForOutput(told, (held) => chat.ask(sent, given, held));
        return undefined;
      });
    },
    relay: (request, asking, listener) =>
      attempt(request, asking, request.stream, (sent, chat, given, begun) =>
        chat.relay(sent, given, {
          begin(answer) {
            begun();
            return listener.begin(answer);
          },
          take: (read) => listener.take(read),
        }),
      ),
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

/** Chunks that say nothing and are held back. More would be a backend that shows that it is at work. */
const MAX_HELD_CHUNKS = 16;

/** Holds the answer back until it says something, so that another backend can still be asked when it breaks off before. */
async function askForOutput(listener: AnswerListener, ask: (listener: AnswerListener) => Promise<void>): Promise<void> {
  let held: { readonly answer: BegunAnswer; readonly chunks: ChatChunk[] } | undefined;
  await ask({
    begin: (answer) => void (held = { answer, chunks: [] }),
    take(batch) {
      if (held === undefined) return listener.take(batch);
      held.chunks.push(...batch.chunks);
      const isSilent = !batch.done && held.chunks.length <= MAX_HELD_CHUNKS && batch.chunks.every(saysNothing);
      return isSilent ? undefined : tellHeld(batch.done);
    },
  });
  await tellHeld(false);

  function tellHeld(done: ChatBatch['done']): Promise<void> | undefined {
    if (held === undefined) return undefined;
    const { answer, chunks } = held;
    held = undefined;
    listener.begin(answer);
    return chunks.length > 0 || done ? listener.take({ chunks, done }) : undefined;
  }
}

interface Beginning extends Pick<RoutedAskOptions<unknown>, 'caller' | 'signal'> {
  /** The first choice first. */
  readonly backends: readonly string[];
}

type Work<Sent> = (
  sent: Sent,
  chat: SingleBackend,
  asking: AskOptions,
  begun: () => void,
) => Promise<RelayedRefusal | undefined>;

/** A refusal that the client may see is returned, and others are thrown. */
interface Failure {
  readonly by: BackendSpec;
  readonly thrown: unknown;
  readonly refusal?: RelayedRefusal;
}

async function failureOf(by: BackendSpec, work: Promise<RelayedRefusal | undefined>): Promise<Failure | undefined> {
  try {
    const refusal = await work;
    return refusal && { by, refusal, thrown: refusal.error };
  } catch (thrown) {
    return { by, thrown };
  }
}

function tell(failure: Failure | undefined): RelayedRefusal {
  if (failure?.refusal !== undefined) return failure.refusal;
  throw failure?.thrown;
}

function isAvailable({ spec, rest, running }: Backend): boolean {
  return rest.isOpen() && (spec.maxConcurrent === null || running < spec.maxConcurrent);
}

function isSameServer(one: BackendSpec, other: BackendSpec): boolean {
  return (
    one.baseUrl === other.baseUrl &&
    one.apiKey === other.apiKey &&
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

/** A backend that refuses the operator's own key has run nothing either, and the error says not to retry. */
function mayHaveRun(thrown: unknown): boolean {
  const { headers } = toApiError(thrown);
  return blameOf(thrown) === 'failed' && headers['x-should-retry'] !== 'false';
}

/** What a failure says of the backend. After `refused` nothing can have run. */
function blameOf(thrown: unknown): 'none' | 'refused' | 'failed' {
  if (!(thrown instanceof ApiError)) return 'none';
  const { code, status } = thrown;
  if (code === 'upstream_unreachable' || status === 429) return 'refused';
  if (!code.startsWith('upstream_')) return 'none';
  return status === 503 ? 'refused' : 'failed';
}
