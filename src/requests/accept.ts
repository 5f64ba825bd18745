/** What both endpoints share: a request is accepted, or found to be a duplicate, and in the end settled, each exactly once. */

import type { Admission, Admitted } from '../accounts/admission.ts';
import type { Taken } from '../accounts/rates.ts';
import type { KeyOwner } from '../backend/failures.ts';
import { ApiError, toApiError, unreachable } from '../core/errors.ts';
import { toRequestId, type UniquePart } from '../core/ids.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import { estimateUsage, type TokenEstimator } from '../core/tokens/estimate.ts';
import type { Identities } from '../identity/identities.ts';
import type { RecordDraft, Store, StoredRecord } from '../store/store.ts';
import type { RequestFacts } from './facts.ts';
import type { Incoming } from './incoming.ts';
import { outcomeOf, type Ending } from './outcome.ts';
import type { Plan } from './prepare.ts';
import { refuseWhileDraining, type RunningRequest, type RunningRequests } from './running.ts';

export interface AcceptServices {
  readonly store: Store;
  readonly admission: Admission;
  readonly running: RunningRequests;
  readonly identities: Identities;
  readonly estimator: TokenEstimator;
  readonly keyOwner: KeyOwner;
  readonly nowMs: () => number;
}

/** A request which has a record and is to run now. */
export interface Accepted {
  readonly kind: 'accepted';
  readonly unique: UniquePart;
  readonly createdAtMs: number;
  /** Aborts with an ApiError that says why the request ends early. */
  readonly signal: StopSignal;
  /** Set while somebody asks for a cancel. Resolves when that is decided; rejects with the reason when it is cancelled. */
  whenDecided(): Promise<void> | undefined;
  /** What the request failed with, after a cancel that is being asked for has been decided. Logs a mistake of our own. */
  failureOf(thrown: unknown): Promise<ApiError>;
  /**
   * To be called when it is known how the request ends and before the client is told; the first call counts. Nobody waits for
   * the store: one that is out of order must not keep the answer from the client.
   */
  settle(ending: Ending): void;
  /** The request has thrown, and the client is told so by a status. Settles it, where that has not been done. */
  settleThrown(thrown: unknown): void;
  /** To be called last. A drain waits until then, and until the client has its reply. */
  release(): void;
}

export interface Duplicate {
  readonly kind: 'duplicate';
  readonly record: StoredRecord;
}

/** Gives the request its record, or finds the record that it has already. Throws the ApiError of one that may not start. */
export async function accept(incoming: Incoming, plan: Plan, services: AcceptServices): Promise<Accepted | Duplicate> {
  const { facts } = incoming;
  facts.model = plan.model;
  facts.stream = plan.stream;
  // Gone while its body was decompressed: nobody would notice any more, and the backend would work for nobody.
  if (incoming.isServed()) throw new ApiError('client_disconnected');
  const draft = toDraft(incoming, plan, services);
  const run = services.running.begin(draft.requestId);
  // Watched before the record is written, so that no moment is left in which nobody would notice.
  incoming.onceServed((hasWholeReply) => {
    if (!hasWholeReply) run.abort(new ApiError('client_disconnected'));
  });
  try {
    const decision = await decide(draft, incoming, plan, services);
    if (decision.kind === 'accepted') return toAccepted({ ...decision, incoming, plan, draft, run }, services);
    release(run, incoming);
    return decision;
  } catch (refusal) {
    release(run, incoming);
    throw refusal;
  }
}

/** A request that was let in, with all that its end needs to know of its beginning. */
interface Started {
  readonly incoming: Incoming;
  readonly plan: Plan;
  readonly draft: RecordDraft;
  readonly admitted: Admitted;
  readonly taken: Taken;
  readonly run: RunningRequest;
}

const NOTHING_CAME = { incompleteReason: null, usage: null, outputLength: 0 } as const;

function toAccepted(started: Started, services: AcceptServices): Accepted {
  const { incoming, draft, run, taken } = started;
  const { facts } = incoming;
  let keepsKey: boolean | undefined;
  for (const [name, value] of Object.entries(taken.headers)) incoming.setHeader(name, value);

  function settle(ending: Ending): void {
    if (keepsKey !== undefined) return;
    facts.usage = ending.usage;
    facts.errorCode = ending.failure?.code;
    keepsKey = writeEnd(started, ending, { ...services, log: facts.log });
  }

  return {
    kind: 'accepted',
    unique: facts.unique,
    createdAtMs: draft.createdAtMs,
    signal: run.signal,
    whenDecided: () => run.cancelDecided?.then(() => run.signal.throwIfAborted()),
    async failureOf(thrown) {
      await run.cancelDecided;
      const error = toApiError(run.signal.aborted ? run.signal.reason : thrown);
      if (error.code === 'internal_error') facts.log.error({ err: thrown }, 'the gateway failed');
      return error;
    },
    settle,
    settleThrown(thrown) {
      settle({ ...NOTHING_CAME, failure: toApiError(thrown), hasOutput: incoming.hasReplyBegun() });
      // With the same key the SDKs would only be told that the request is a duplicate.
      if (keepsKey === true && draft.idempotency !== undefined) incoming.setHeader('x-should-retry', 'false');
    },
    release: () => release(run, incoming),
  };
}

/** A drain waits for what runs, and until the client has its reply, an error too, that is not over. */
function release(run: RunningRequest, incoming: Incoming): void {
  if (incoming.isServed()) run.end();
  else incoming.onceServed(() => run.end());
}

function toDraft(incoming: Incoming, plan: Plan, services: AcceptServices): RecordDraft {
  const { caller, idempotencyKey, body, facts } = incoming;
  const { endpoint, model, stream } = plan;
  const { identities } = services;
  return {
    requestId: toRequestId(facts.unique),
    caller: caller.identity,
    endpoint,
    model,
    stream,
    createdAtMs: services.nowMs(),
    estimatedInputTokens: services.estimator.estimateInput(plan.backendModel, plan.inputSize),
    ...(idempotencyKey !== undefined && {
      idempotency: {
        key: identities.idempotencyKey(caller.identity, idempotencyKey),
        body: identities.body(caller.identity, body.bytes, endpoint),
      },
    }),
  };
}

/**
 * Checks in the order duplicate, model, rate, funds; rate and funds in the store. A duplicate is looked for by itself only
 * where something else refuses the request: the store looks for it in any case before it accepts one. The lookup sees what
 * was accepted before it, so that of equal requests at once the rest are duplicates of the one that the limits let through.
 */
async function decide(
  draft: RecordDraft,
  incoming: Incoming,
  plan: Plan,
  { store, admission, running }: AcceptServices,
): Promise<(Pick<Started, 'admitted' | 'taken'> & { readonly kind: 'accepted' }) | Duplicate> {
  let admitted: Admitted;
  try {
    refuseWhileDraining(running);
    const { estimatedInputTokens } = draft;
    admitted = admission.admit(incoming.caller.key, { ...plan, estimatedInputTokens });
  } catch (refusal) {
    const record = draft.idempotency && (await store.findDuplicate(draft.caller, draft.idempotency));
    if (record === undefined) throw refusal;
    return { kind: 'duplicate', record };
  }
  const { hold } = admitted;
  const acceptance = await store.accept(hold === undefined ? draft : { ...draft, hold });
  switch (acceptance.kind) {
    case 'accepted':
      return { kind: 'accepted', admitted, taken: admitted.taken(acceptance.rates) };
    case 'refused':
      throw await admitted.explain(acceptance);
    case 'duplicate':
      return acceptance;
    default:
      return unreachable(acceptance);
  }
}

/**
 * Hands the final state to the store, which sees it before any question the client can ask from now on. Returns whether the
 * idempotency key stays taken.
 */
function writeEnd(
  { draft, plan, admitted, taken }: Started,
  ending: Ending,
  { store, estimator, keyOwner, nowMs, log }: AcceptServices & Pick<RequestFacts, 'log'>,
): boolean {
  const { backendModel, inputSize } = plan;
  const { usage, outputLength } = ending;
  if (usage !== null) estimator.learn(backendModel, inputSize, outputLength, usage);
  const outcome = outcomeOf(ending, {
    completedAtMs: nowMs(),
    keyOwner,
    estimateUsage: () => estimateUsage(estimator, plan, outputLength),
    costOf: (usage) => admitted.costOf(usage),
  });
  // In the same turn as the end of the record, so that both go to the store together.
  const used = outcome === 'discard' ? null : outcome.usage;
  taken.correct(used === null ? 0 : used.input_tokens + used.output_tokens);
  const written = outcome === 'discard' ? store.discard(draft.requestId) : store.finish(draft.requestId, outcome);
  written.catch((error: unknown) => log.error({ err: error }, 'the end of the request is not recorded yet'));
  return outcome !== 'discard' && !outcome.freesIdempotencyKey;
}
