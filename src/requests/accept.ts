/** What both endpoints share: a request is accepted, or answered as a duplicate, and in the end settled, each exactly once. */

import type { Admission, Admitted } from '../accounts/admission.ts';
import type { Taken } from '../accounts/rates.ts';
import type { KeyOwner } from '../backend/failures.ts';
import { ApiError, toApiError } from '../core/errors.ts';
import { estimateUsage, type InputSize, type TokenEstimator } from '../core/tokens/estimate.ts';
import { toRequestId, type UniquePart } from '../core/ids.ts';
import { unreachable } from '../core/unreachable.ts';
import type { Identities } from '../identity/identities.ts';
import type { RecordDraft, Store, StoredRecord } from '../store/store.ts';
import type { Caller } from '../http/access/authenticate.ts';
import { outcomeOf, type Ending } from './outcome.ts';
import { sendDuplicate } from '../http/records/record.ts';
import type { Client } from '../http/responses/client.ts';
import type { RequestFacts } from './facts.ts';
import { refuseWhileDraining, type RunningRequest, type RunningRequests } from './running.ts';

export interface AcceptanceOptions {
  readonly store: Store;
  readonly admission: Admission;
  readonly running: RunningRequests;
  readonly identities: Identities;
  readonly estimator: TokenEstimator;
  readonly keyOwner: KeyOwner;
  readonly nowMs: () => number;
}

/** A request whose shape is known to be right. */
export interface Submission {
  readonly caller: Caller;
  readonly endpoint: RecordDraft['endpoint'];
  /** As the caller names it. */
  readonly model: string;
  /** As the backend knows it. */
  readonly backendModel: string;
  readonly stream: boolean;
  /** The exact bytes, decompressed. */
  readonly body: Uint8Array;
  readonly idempotencyKey: string | undefined;
  readonly inputSize: InputSize;
  /** What the model may write in one choice; null when the request names no limit. */
  readonly maxOutputTokens: number | null;
  readonly choices: number;
}

/** A request which has a record and is to run now. */
export interface AcceptedRequest {
  readonly unique: UniquePart;
  readonly createdAtMs: number;
  readonly run: RunningRequest;
  /**
   * To be called once, when it is known how the request ends and before the client is told. Nobody waits for the store: one
   * that is out of order must not keep the answer from the client.
   */
  readonly settle: (ending: Ending) => void;
}

/**
 * Gives the request its record and lets `perform` answer it, or answers the duplicate that it is. Throws the ApiError of a
 * request which may not start, and what `perform` throws; one that `perform` has not settled by then is settled with that.
 */
export type ServeAccepted = (
  client: Client,
  submission: Submission,
  perform: (accepted: AcceptedRequest) => Promise<void>,
) => Promise<void>;

/** The door to the backend for both endpoints, and for each transport. */
export function createAcceptance(options: AcceptanceOptions): ServeAccepted {
  return async (client, submission, perform) => {
    const { facts } = client;
    facts.model = submission.model;
    facts.stream = submission.stream;
    // Gone while its body was decompressed: nobody would notice any more, and the backend would work for nobody.
    if (client.isServed) throw new ApiError('client_disconnected');
    const { unique } = facts;
    const draft = toDraft(submission, unique, options);
    const run = options.running.begin(draft.requestId);
    // Watched before the record is written, so that no moment is left in which nobody would notice.
    client.onceServed((hasWholeReply) => {
      if (!hasWholeReply) run.abort(new ApiError('client_disconnected'));
    });
    try {
      const verdict = await accept(draft, submission, options);
      if (verdict.kind === 'accepted') await runToEnd({ draft, submission, unique, run, ...verdict }, client, perform);
      else sendDuplicate(client, verdict.record);
    } finally {
      // A drain waits for what runs, and until the client has its reply, an error too, that is not over.
      if (client.isServed) run.end();
      else client.onceServed(() => run.end());
    }
  };

  async function runToEnd(job: Job, client: Client, perform: Parameters<ServeAccepted>[2]): Promise<void> {
    const { draft, unique, run } = job;
    const { facts } = client;
    let keepsKey: boolean | undefined;
    const settleOnce = (ending: Ending): void => {
      if (keepsKey === undefined) noteEnding(facts, ending);
      keepsKey ??= settle(job, ending, { ...options, log: facts.log });
    };
    for (const [name, value] of Object.entries(job.taken.headers)) client.setHeader(name, value);
    try {
      await perform({ unique, createdAtMs: draft.createdAtMs, run, settle: settleOnce });
    } catch (error) {
      settleOnce({ ...NOTHING_CAME, failure: toApiError(error), hasOutput: client.replyBegan });
      // With the same key the SDKs would only be told that the request is a duplicate.
      if (keepsKey === true && draft.idempotency !== undefined) client.setHeader('x-should-retry', 'false');
      throw error;
    }
  }
}

function noteEnding(facts: RequestFacts, { usage, failure }: Ending): void {
  facts.usage = usage;
  facts.errorCode = failure?.code;
}

/** One accepted request, with all that its end needs to know of its beginning. */
interface Job {
  readonly draft: RecordDraft;
  readonly submission: Submission;
  readonly admitted: Admitted;
  readonly taken: Taken;
  readonly unique: UniquePart;
  readonly run: RunningRequest;
}

const NOTHING_CAME = { incompleteReason: null, usage: null, outputLength: 0 } as const;

function toDraft(submission: Submission, unique: UniquePart, options: AcceptanceOptions): RecordDraft {
  const { caller, endpoint, model, stream, idempotencyKey } = submission;
  const { identities } = options;
  return {
    requestId: toRequestId(unique),
    caller: caller.identity,
    endpoint,
    model,
    stream,
    createdAtMs: options.nowMs(),
    estimatedInputTokens: options.estimator.estimateInput(submission.backendModel, submission.inputSize),
    ...(idempotencyKey !== undefined && {
      idempotency: {
        key: identities.idempotencyKey(caller.identity, idempotencyKey),
        body: identities.body(caller.identity, submission.body, endpoint),
      },
    }),
  };
}

type Verdict =
  | { readonly kind: 'accepted'; readonly admitted: Admitted; readonly taken: Taken }
  | { readonly kind: 'duplicate'; readonly record: StoredRecord };

/**
 * Checks in the order of the contract (section 7): duplicate, model, rate, funds; rate and funds in the store. A duplicate is looked for by itself only
 * where something else refuses the request: the store looks for it in any case before it accepts one. The lookup sees what
 * was accepted before it, so that of equal requests at once the rest are duplicates of the one that the limits let through.
 */
async function accept(draft: RecordDraft, submission: Submission, options: AcceptanceOptions): Promise<Verdict> {
  let admitted: Admitted;
  try {
    admitted = admit(draft, submission, options);
  } catch (refusal) {
    const record = draft.idempotency && (await options.store.findDuplicate(draft.caller, draft.idempotency));
    if (record === undefined) throw refusal;
    return { kind: 'duplicate', record };
  }
  const { hold } = admitted;
  const acceptance = await options.store.accept(hold === undefined ? draft : { ...draft, hold });
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

function admit(draft: RecordDraft, submission: Submission, { admission, running }: AcceptanceOptions): Admitted {
  refuseWhileDraining(running);
  return admission.admit(submission.caller.key, { ...submission, estimatedInputTokens: draft.estimatedInputTokens });
}

/**
 * Hands the final state to the store, which sees it before any question the client can ask from now on. Returns whether the
 * idempotency key stays taken.
 */
function settle(
  { draft, submission, admitted, taken }: Job,
  ending: Ending,
  { store, estimator, keyOwner, nowMs, log }: AcceptanceOptions & Pick<RequestFacts, 'log'>,
): boolean {
  const { backendModel, inputSize } = submission;
  const { usage, outputLength } = ending;
  if (usage !== null) estimator.learn(backendModel, inputSize, outputLength, usage);
  const outcome = outcomeOf(ending, {
    completedAtMs: nowMs(),
    keyOwner,
    estimateUsage: () => estimateUsage(estimator, submission, outputLength),
    costOf: (usage) => admitted.costOf(usage),
  });
  // In the same turn as the end of the record, so that both go to the store together.
  const used = outcome === 'discard' ? null : outcome.usage;
  taken.correct(used === null ? 0 : used.input_tokens + used.output_tokens);
  const written = outcome === 'discard' ? store.discard(draft.requestId) : store.finish(draft.requestId, outcome);
  written.catch((error: unknown) => log.error({ err: error }, 'the end of the request is not recorded yet'));
  return outcome !== 'discard' && !outcome.freesIdempotencyKey;
}
