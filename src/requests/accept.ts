/** Every recorded request is accepted, or found to be a duplicate, and settled exactly once. */

import { isLimited, type Admission, type AdmissionTerms } from '../accounts/admission.ts';
import type { RateCharge } from '../accounts/rates.ts';
import type { KeyOwner } from '../backend/request-headers.ts';
import { ApiError, unreachable } from '../core/errors.ts';
import { toRequestId, type UniquePart } from '../core/ids.ts';
import type { TokenEstimator } from '../core/tokens/estimate.ts';
import type { Identities } from '../identity/identities.ts';
import type { RecordDraft, Store, StoredRecord } from '../core/books/store.ts';
import { openBill, type Bill } from './bill.ts';
import type { Incoming } from './incoming.ts';
import { modelCallOf, type Plan } from './plan.ts';
import type { OpenPrompt, PromptTurns } from './prompt-turns.ts';
import { openRecord, type OpenRecord } from './record.ts';
import { refuseWhileDraining, type RunningRequest, type RunningRequests } from './running.ts';
import type { DuplicateServices } from './show-record.ts';

export interface AcceptServices extends DuplicateServices {
  readonly store: Store;
  readonly admission: Admission;
  readonly running: RunningRequests;
  readonly identities: Identities;
  readonly promptTurns: PromptTurns;
  readonly estimator: TokenEstimator;
  readonly keyOwner: KeyOwner;
  readonly nowMs: () => number;
  /** A clock that nobody sets. */
  readonly steadyMs: () => number;
}

export interface Opened {
  readonly run: RunningRequest;
  readonly record: OpenRecord;
  readonly bill: Bill;
}

export interface Accepted extends Opened {
  readonly kind: 'accepted';
  readonly unique: UniquePart;
  readonly createdAtMs: number;
  readonly prompt: OpenPrompt;
  /** Must be called last. A drain waits for it, and until the client has its reply. */
  release(): void;
}

export interface Duplicate {
  readonly kind: 'duplicate';
  readonly record: StoredRecord;
}

/**
 * Prepares a request. One that is refused may repeat an earlier one, whose references are forgotten or
 * whose model is gone by now, and then is its duplicate. It stays refused while the database does not
 * answer, since most that are refused repeat nothing.
 */
export async function prepareOnce<Made extends Plan>(
  incoming: Incoming & { readonly prepare: () => Promise<Made> },
  endpoint: Made['endpoint'],
  services: AcceptServices,
): Promise<Made | Duplicate> {
  try {
    return await incoming.prepare();
  } catch (refusal) {
    if (!(refusal instanceof ApiError) || refusal.status >= 499) throw refusal;
    const idempotency = idempotencyOf(incoming, endpoint, services);
    const repeated = await findRepeated(incoming, idempotency, services.store).catch(() => undefined);
    if (repeated === undefined) throw refusal;
    return repeated;
  }
}

async function findRepeated(
  { caller }: Incoming,
  idempotency: RecordDraft['idempotency'],
  store: Store,
): Promise<Duplicate | undefined> {
  const record = idempotency && (await store.findDuplicate(caller.identity, idempotency));
  return record && { kind: 'duplicate', record };
}

/**
 * Writes the record, or finds a duplicate. Throws the ApiError of a request that may not start. The
 * record may still be on its way to the disk where no key and no limit depends on it; with `mayWait`
 * it may wait some milliseconds for its end.
 */
export async function accept(
  incoming: Incoming,
  plan: Plan,
  services: AcceptServices,
  { mayWait = false } = {},
): Promise<Accepted | Duplicate> {
  const { facts } = incoming;
  // A client that left while its body was decompressed sends no further event.
  if (incoming.isServed()) throw new ApiError('client_disconnected');
  if (incoming.isCancelled?.() === true) throw new ApiError('request_cancelled');
  facts.model = plan.model;
  facts.stream = plan.stream;
  const draft = toDraft(incoming, plan, services);
  const clock = startClockAt(draft.createdAtMs, services.steadyMs);
  const run = services.running.begin(draft.requestId);
  // The listener is set before the record is written, so that no disconnect is missed.
  incoming.onceServed((hasWholeReply) => {
    if (!hasWholeReply) run.abort(new ApiError('client_disconnected'));
  });
  try {
    const decision = await decide(draft, incoming, plan, services);
    if (decision.kind === 'accepted')
      return toAccepted({ ...decision, incoming, plan, draft, clock, run, mayWait }, services);
    release(run, incoming);
    return decision;
  } catch (refusal) {
    release(run, incoming);
    throw refusal;
  }
}

interface Started extends Begun {
  readonly incoming: Incoming;
  readonly plan: Plan;
  readonly draft: RecordDraft;
  readonly clock: () => number;
  readonly run: RunningRequest;
  readonly mayWait: boolean;
}

interface Begun {
  readonly kind: 'accepted';
  readonly admitted: AdmissionTerms;
  readonly taken: RateCharge;
  /** Set if the request begins beside the commit of its record. The promise rejects if there is none. */
  readonly write?: () => Promise<unknown>;
}

function toAccepted(
  { incoming, plan, draft, clock, run, mayWait, admitted, taken, write }: Started,
  { store, estimator, keyOwner, promptTurns }: AcceptServices,
): Accepted {
  for (const [name, value] of Object.entries(taken.headers)) incoming.setHeader(name, value);
  const { estimatedInputTokens } = draft;
  const prompt = promptTurns.open(incoming, plan);
  return {
    kind: 'accepted',
    unique: incoming.facts.unique,
    createdAtMs: draft.createdAtMs,
    run,
    record: openRecord({
      draft,
      store,
      facts: incoming.facts,
      write,
      // A hold is taken from the start on.
      mayWait: mayWait && admitted.hold === undefined,
      onRefused: (why) => run.abort(why),
    }),
    bill: openBill({ incoming, plan, estimatedInputTokens, admitted, taken, estimator, keyOwner, clock, prompt }),
    prompt,
    release: () => release(run, incoming),
  };
}

function release(run: RunningRequest, incoming: Incoming): void {
  if (incoming.isServed()) run.end();
  else incoming.onceServed(() => run.end());
}

function startClockAt(nowMs: number, steadyMs: () => number): () => number {
  const startedAtMs = steadyMs();
  return () => nowMs + Math.max(0, Math.round(steadyMs() - startedAtMs));
}

function toDraft(incoming: Incoming, plan: Plan, services: AcceptServices): RecordDraft {
  const { caller, facts } = incoming;
  const { endpoint, model, stream } = plan;
  const idempotency = idempotencyOf(incoming, endpoint, services);
  return {
    requestId: toRequestId(facts.unique),
    caller: caller.identity,
    endpoint,
    model,
    stream,
    createdAtMs: services.nowMs(),
    estimatedInputTokens: services.estimator.reserveInput(modelCallOf(plan, caller.identity, 0)),
    ...(idempotency !== undefined && { idempotency }),
  };
}

function idempotencyOf(
  { caller, idempotencyKey, body }: Incoming,
  endpoint: RecordDraft['endpoint'],
  { identities }: AcceptServices,
): RecordDraft['idempotency'] {
  if (idempotencyKey === undefined) return undefined;
  return {
    key: identities.idempotencyKey(caller.identity, idempotencyKey),
    body: identities.body(caller.identity, body.bytes, endpoint, body.digest),
  };
}

/** The store finds duplicates in any case, so a lookup is needed only after another refusal. */
async function decide(
  draft: RecordDraft,
  incoming: Incoming,
  plan: Plan,
  { store, admission, running }: AcceptServices,
): Promise<Begun | Duplicate> {
  let admitted: AdmissionTerms;
  try {
    refuseWhileDraining(running);
    const { estimatedInputTokens } = draft;
    admitted = admission.admit(incoming.caller.key, { ...plan, estimatedInputTokens });
  } catch (refusal) {
    const repeated = await findRepeated(incoming, draft.idempotency, store);
    if (repeated === undefined) throw refusal;
    return repeated;
  }
  const begin = (): Promise<Begun | Duplicate> => write(draft, admitted, store);
  if (!mayOverlap(draft, incoming, store)) return begin();
  return { kind: 'accepted', admitted, taken: admitted.taken(undefined), write: begin };
}

/**
 * Returns whether the backend may be called beside the commit. An idempotency key, funds and limits
 * are decided by the commit, and a store that fails would make each call a waste.
 */
function mayOverlap({ idempotency }: RecordDraft, { caller }: Incoming, store: Store): boolean {
  return idempotency === undefined && !isLimited(caller.key) && !store.isFailing();
}

async function write(draft: RecordDraft, admitted: AdmissionTerms, store: Store): Promise<Begun | Duplicate> {
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
