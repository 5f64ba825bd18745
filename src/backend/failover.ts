/** Asks the backend that a request was given, and another one while nothing has been said. */

import type { ChatBody } from '../core/encoded-chat.ts';
import type { BackendPolicy, BackendSpec, RouteToAsk } from '../core/routes.ts';
import type { Backends, SingleBackend, Try } from './backends.ts';
import { isIn } from './replicas.ts';
import { blameOf, hasRefused, mayHaveRun, wasNotAsked } from './choice/blame.ts';
import type { AnswerListener, AskOptions, RelayListener, RelayRequest } from './chat.ts';
import { canRepeat, type Forwarding, type ForwardListener } from './forward/forward.ts';
import { askForOutput, relayForOutput } from './until-output.ts';
import type { RelayedRefusal } from './refusal.ts';
import { withKey } from './request-headers.ts';

export interface RoutedChatBackend {
  /** As `ChatBackend.ask`, at one of the backends of the route. */
  ask(request: ChatBody, options: RoutedAskOptions<ChatBody>, listener: AnswerListener): Promise<void>;
}

export interface RoutedChatRelay {
  /** As `ChatRelay.relay`, at one of the backends of the route. */
  relay(
    request: RelayRequest,
    options: RoutedAskOptions<RelayRequest>,
    listener: RelayListener,
  ): Promise<RelayedRefusal | undefined>;
}

export interface RoutedForward {
  /** As `Forward.forward`, at one of the backends of the route. */
  forward(
    forwarding: Forwarding,
    options: RoutedAskOptions<Forwarding>,
    listener: ForwardListener,
  ): Promise<RelayedRefusal | undefined>;
}

/** Asks the backends that requests were given. */
export type Failover = RoutedChatBackend & RoutedChatRelay & RoutedForward;

export interface RoutedAskOptions<Sent> extends AskOptions {
  readonly route: RouteToAsk;
  /**
   * Returns the request as it is made for this backend, undefined if it cannot go there. Without it
   * only those that are alike are asked.
   */
  readonly reroute?: (backend: BackendSpec) => Sent | undefined | Promise<Sent | undefined>;
  /** Callers take turns where requests wait. */
  readonly caller: string;
  /** Is called with each backend that is asked, and last with the one that answered. */
  readonly note: (backend: BackendSpec) => void;
}

export interface FailoverOptions {
  readonly backends: Backends;
  readonly policy: () => BackendPolicy;
  readonly firstByteTimeoutMs: number;
  /** How long a relayed answer is held back while another backend could be asked. */
  readonly headerHoldMs: number;
  readonly nowMs: () => number;
}

/** Of one request. */
const MAX_TRIES = 3;

/** Returns what asks these backends. */
export function createFailover(options: FailoverOptions): Failover {
  const { backends, policy, nowMs } = options;

  /** Tries one backend after the other while `work` has not called `begun`. */
  async function attempt<Sent>(
    first: Sent,
    asking: RoutedAskOptions<Sent>,
    { isStream, maxTries = MAX_TRIES }: { readonly isStream: boolean; readonly maxTries?: number },
    work: Work<Sent>,
  ): Promise<RelayedRefusal | undefined> {
    const startedMs = nowMs();
    const { route, caller, signal } = asking;
    const names = asking.reroute === undefined ? route.alike : route.backends;
    const slotRequest = { backends: names, model: route.model, caller, signal };
    const mostTries = Math.min(maxTries, names.length);
    const tried = new Set<string>();
    /** Their answers have failed, which may be the fault of the request. */
    const suspects: { readonly candidate: Try; readonly thrown: unknown }[] = [];
    let tries = 0;
    let wasRerouted = false;
    let failure: Failure | undefined;
    let last: BackendSpec | undefined;
    const relayFailure = (relayed: Failure | undefined): RelayedRefusal => {
      // The backend whose failure is told is the one that answered.
      if (relayed !== undefined && relayed.by !== last) asking.note(relayed.by);
      return returnOrThrow(relayed);
    };
    try {
      return await tryAll();
    } finally {
      const failedElsewhere = suspects.length > 1;
      for (const { candidate, thrown } of suspects) candidate.end({ kind: 'failed', thrown, failedElsewhere });
    }

    async function tryAll(): Promise<RelayedRefusal | undefined> {
      for (;;) {
        const found = await findNext();
        if (found === undefined) return relayFailure(failure);
        const { candidate, sent } = found;
        const { spec, chat } = candidate;
        tries += 1;
        last = spec;
        asking.note(spec);
        const { firstByteTimeoutMs = options.firstByteTimeoutMs } = spec.timeouts;
        const leftMs = Math.max(1, startedMs + firstByteTimeoutMs - nowMs());
        // A time-out may have run, so a later try needs a share only where it may follow one.
        const shareMs = policy().failover === 'any' ? leftMs / (mostTries - tries + 1) : leftMs;
        const given = { ...asking, headers: withKey(asking.headers, spec), firstByteTimeoutMs: shareMs };
        // The first byte of an answer in JSON comes with its last one, and no other backend may be faster.
        const slowMs = isStream && mostTries > 1 ? firstByteTimeoutMs / mostTries : Infinity;
        let hasBegun = false;
        const begun = (): void => {
          hasBegun = true;
          candidate.answered(slowMs);
        };
        const next = await failureOf(spec, work({ sent, chat, given, begun, isAlone: mostTries === 1 }));
        if (next === undefined) {
          candidate.end(WHOLE);
          return undefined;
        }
        const isLeft = signal.aborted;
        const { thrown } = next;
        if (wasNotAsked(thrown)) candidate.end(UNASKED);
        else if (isLeft || blameOf(thrown) !== 'answer')
          candidate.end(isLeft ? { kind: 'left' } : { kind: 'failed', thrown });
        else {
          candidate.free();
          suspects.push({ candidate, thrown });
        }
        if (hasBegun || isLeft) return returnOrThrow(next);
        // What may have run keeps the idempotency key, whatever a later try says.
        if (failure === undefined || !mayHaveRun(failure.thrown)) failure = asShownBy(candidate, next);
        if (tries === mostTries || !movesOn(thrown)) return relayFailure(failure);
      }
    }

    /** Without another backend, or a request for it, the caller is told what the last backend said. */
    async function findNext(): Promise<{ readonly candidate: Try; readonly sent: Sent } | undefined> {
      try {
        for (;;) {
          const candidate = await backends.begin(slotRequest, tried);
          const { id, spec } = candidate;
          tried.add(id);
          // The file may say something else of the backend since the route was chosen.
          wasRerouted ||= !isIn(route.alike, spec) || spec.upstreamDialect !== route.upstreamDialect;
          const sent = wasRerouted ? await rerouteTo(candidate, asking) : first;
          if (sent !== undefined) return { candidate, sent };
        }
      } catch (thrown) {
        if (failure === undefined || signal.aborted) throw thrown;
        return undefined;
      }
    }
  }

  function movesOn(thrown: unknown): boolean {
    return hasRefused(thrown) || (policy().failover === 'any' && blameOf(thrown) === 'answer');
  }

  return {
    async ask(request, asking, listener) {
      const isStream = request.stream === true;
      await attempt(request, asking, { isStream }, async ({ sent, chat, given, begun, isAlone }) => {
        const watched: AnswerListener = {
          begin(answer) {
            begun();
            listener.begin(answer);
          },
          take: (batch) => listener.take(batch),
        };
        // Before its first chunk an answer has not begun in any case.
        if (isAlone || policy().failover === 'safe') await chat.ask(sent, given, watched);
        else await askForOutput(watched, (buffering) => chat.ask(sent, given, buffering));
        return undefined;
      });
    },
    relay: (request, asking, listener) =>
      attempt(request, asking, { isStream: request.stream }, ({ sent, chat, given, begun, isAlone }) => {
        const watched: RelayListener = {
          begin(answer) {
            begun();
            return listener.begin(answer);
          },
          take: (read) => listener.take(read),
        };
        if (isAlone) return chat.relay(sent, given, watched);
        const limits = { buffersChunks: policy().failover === 'any', timeoutMs: options.headerHoldMs, nowMs };
        return relayForOutput(watched, limits, (buffering) => chat.relay(sent, given, buffering));
      }),
    forward(forwarding, asking, listener) {
      // Each try adds some listeners.
      forwarding.res.setMaxListeners(MAX_TRIES * forwarding.res.getMaxListeners());
      const tries = { isStream: false, maxTries: canRepeat(forwarding) ? MAX_TRIES : 1 };
      return attempt(forwarding, asking, tries, ({ sent, chat, given, begun }) =>
        chat.forward(sent, given, {
          stream(answer, body) {
            begun();
            listener.stream(answer, body);
          },
          whole(answer, body) {
            begun();
            listener.whole(answer, body);
          },
        }),
      );
    },
  };
}

const WHOLE = { kind: 'whole' } as const;
const UNASKED = { kind: 'unasked' } as const;

type Work<Sent> = (one: WorkOfTry<Sent>) => Promise<RelayedRefusal | undefined>;

interface WorkOfTry<Sent> {
  readonly sent: Sent;
  readonly chat: SingleBackend;
  readonly given: AskOptions;
  readonly begun: () => void;
  /** Whether no other backend can be asked. */
  readonly isAlone: boolean;
}

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

/** Where all backends rest, the caller is told when to ask again. */
function asShownBy(candidate: Try, failure: Failure): Failure {
  const thrown = candidate.toShown(failure.thrown);
  return thrown === failure.thrown ? failure : { by: failure.by, thrown };
}

function returnOrThrow(failure: Failure | undefined): RelayedRefusal {
  if (failure?.refusal !== undefined) return failure.refusal;
  throw failure?.thrown;
}

/** Makes the request again. Returns undefined, and gives the slot back, if it cannot go there. */
async function rerouteTo<Sent>(candidate: Try, { reroute, signal }: RoutedAskOptions<Sent>): Promise<Sent | undefined> {
  try {
    const sent = await reroute?.(candidate.spec);
    signal.throwIfAborted();
    if (sent === undefined) candidate.end(UNASKED);
    return sent;
  } catch (thrown) {
    candidate.end(UNASKED);
    throw thrown;
  }
}
