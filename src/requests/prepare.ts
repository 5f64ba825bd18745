/** One request as it came, and what becomes of it before anybody is asked: checked, translated, weighed. */

import { isLimited } from '../accounts/admission.ts';
import type { CompactionOptions, CompactionPlan } from '../core/compaction/compaction.ts';
import { inputSizeOf, type InputSize, type TokenEstimator } from '../core/tokens/estimate.ts';
import { checkServiceTier } from '../core/request/refused-fields.ts';
import { toChatRequest, type Translation } from '../core/request/request.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import type { Translator } from '../core/reply/translator.ts';
import type { CreateResponse } from '../contract/types.ts';
import type { Caller } from '../http/access/authenticate.ts';
import type { JsonBody } from '../http/body/body.ts';
import type { Client } from '../http/responses/client.ts';
import type { Submission } from './accept.ts';
import { compactionFor, holdsCompaction, loadOf, sizeOfChat } from './compact.ts';
import type { ItemMemory } from './item-memory.ts';
import type { Reply } from '../http/responses/reply.ts';
import { translationOptionsFor, type TranslationSettings } from './translation-options.ts';

/** A request for a response as it came, and what its answer goes to: all that a transport knows and the others do not. */
export interface CreateRequest {
  readonly caller: Caller;
  readonly idempotencyKey: string | undefined;
  /** The exact bytes, decompressed, and the JSON in them. */
  readonly body: JsonBody;
  /** What this request continues, which stands in its input already. */
  readonly continues?: { readonly responseId: string; readonly bytes: number };
  /** Only to be checked and answered with a response without output: nothing is asked, nothing is recorded. */
  readonly isWarmUp?: boolean;
  /** What the record says of where it came in. */
  readonly endpoint: Submission['endpoint'];
  /** Reads that JSON as a request for a response. Throws ApiError. */
  readonly validate: (value: unknown) => CreateResponse;
  readonly openReply: (translator: Translator, job: ReplyJob) => Reply;
}

/** What a reply knows of its request. */
export interface ReplyJob extends Pick<Job, 'request' | 'submission'> {
  readonly signal: StopSignal;
}

/** One request as it is translated and recorded; the value which the steps below hand on. */
export interface Job {
  readonly client: Client;
  readonly create: CreateRequest;
  readonly request: CreateResponse;
  readonly translation: Translation;
  readonly plan: CompactionPlan | undefined;
  readonly planOptions: CompactionOptions;
  readonly submission: Submission;
}

export interface JobOptions
  extends TranslationSettings, Pick<CompactionOptions, 'compactionModel' | 'compactionMaxOutputTokens'> {
  readonly estimator: TokenEstimator;
  readonly itemMemory: ItemMemory;
}

/** Throws the ApiError of a request that is not right, or that no chat backend can be asked. */
export function toJob(client: Client, create: CreateRequest, options: JobOptions): Job {
  const {
    caller,
    endpoint,
    idempotencyKey,
    body: { bytes, value },
  } = create;
  const bytesRemembered = options.itemMemory.resolve(caller.identity, value) + (create.continues?.bytes ?? 0);
  const request = create.validate(value);
  const planOptions = { ...options, ...translationOptionsFor(caller.identity, options) };
  const translation = toChatRequest(request, { ...planOptions, mayBeEmpty: create.isWarmUp === true });
  if (isLimited(caller.key)) checkServiceTier(translation.chat.service_tier);
  const plan = compactionFor(request, translation, planOptions);
  return {
    client,
    create,
    request,
    translation,
    plan,
    planOptions,
    submission: {
      caller,
      endpoint,
      model: request.model,
      backendModel: translation.chat.model,
      stream: request.stream === true,
      body: bytes,
      idempotencyKey,
      ...(plan === undefined
        ? {
            inputSize: sizeOfInput(request, translation, bytes.length + bytesRemembered),
            maxOutputTokens: request.max_output_tokens ?? null,
            choices: 1,
          }
        : loadOf(plan, request, planOptions)),
    },
  };
}

/** What the input of a request whose body had so many bytes weighs: only what the backend is told counts. */
export function sizeOfInput(
  request: CreateResponse,
  { chat, droppedItems }: Pick<Translation, 'chat' | 'droppedItems'>,
  bodyBytes: number,
): InputSize {
  return holdsCompaction(request) || droppedItems.length > 0 ? sizeOfChat(chat) : inputSizeOf(chat, bodyBytes);
}
