import type { Request, RequestHandler, Response } from 'express';
import type { ChatBackend } from '../backend/chat.ts';
import type { KeyOwner } from '../backend/failures.ts';
import type { Dialect } from '../core/dialects.ts';
import { ApiError } from '../core/errors.ts';
import { inputSizeOf, type InputSize, type TokenEstimator } from '../core/estimate.ts';
import { toRequestId, type NewUniquePart } from '../core/ids.ts';
import { toChatRequest, wantsLogprobs, wantsSealedReasoning, type Translation } from '../core/request.ts';
import { initialResponse } from '../core/response.ts';
import { createTranslator, type Translator } from '../core/translator.ts';
import type { Identities } from '../identity.ts';
import type { Sealer } from '../seal.ts';
import type { RecordDraft, Store, StoredRecord } from '../store/store.ts';
import type { CreateResponse, HostedToolsPolicy, ReasoningOutput, Usage } from '../types/contract.ts';
import { callerOf, type Caller } from './authenticate.ts';
import { readJsonBody } from './body.ts';
import { runExchange } from './exchange.ts';
import { parseIdempotencyKey } from './idempotency-key.ts';
import type { ItemMemory } from './item-memory.ts';
import { noteModel } from './logging.ts';
import { outcomeOf } from './outcome.ts';
import { baseUrlOf, sendDuplicate } from './record.ts';
import { createJsonReply, createStreamReply } from './reply.ts';
import type { RunningRequest, RunningRequests } from './running.ts';
import { validateCreateResponse } from './validate.ts';

export interface CreateResponseOptions {
  readonly backend: ChatBackend;
  readonly store: Store;
  readonly running: RunningRequests;
  readonly identities: Identities;
  readonly sealer: Sealer;
  readonly itemMemory: ItemMemory;
  readonly estimator: TokenEstimator;
  readonly dialect: Dialect;
  readonly modelAliases: ReadonlyMap<string, string>;
  readonly hostedTools: HostedToolsPolicy;
  readonly reasoningOutput: ReasoningOutput;
  readonly keyOwner: KeyOwner;
  readonly publicBaseUrl: string | null;
  readonly maxBodyBytes: number;
  readonly headerHoldMs: number;
  readonly keepaliveCommentMs: number;
  readonly keepaliveEventMs: number;
  readonly clientStallMs: number;
  readonly newUniquePart: NewUniquePart;
  readonly nowMs: () => number;
}

/** One request as it is translated and recorded; the value which the steps below hand on. */
interface Job {
  readonly caller: Caller;
  readonly request: CreateResponse;
  readonly translation: Translation;
  readonly translator: Translator;
  readonly draft: RecordDraft;
  readonly inputSize: InputSize;
}

/** `POST /api/v1/responses`: accept, or answer the duplicate; ask, translate, reply, settle. */
export function createResponse(options: CreateResponseOptions): RequestHandler {
  return async (req, res) => {
    const job = await readJob(req, res, options);
    // Gone while its body was decompressed: nobody would notice any more, and the backend would work for nobody.
    if (res.closed) throw new ApiError('client_disconnected');
    const run = options.running.begin(job.draft.requestId);
    // Watched before the record is written, so that no moment is left in which nobody would notice.
    res.once('close', () => {
      if (!res.writableFinished) run.abort(new ApiError('client_disconnected'));
    });
    try {
      const original = await accept(job.draft, options);
      if (original === undefined) await perform(job, run, res, options);
      else sendDuplicate(res, original, baseUrlOf(req, options.publicBaseUrl));
    } finally {
      // A drain waits for what runs, and until the client has its reply, an error too, that is not over.
      if (res.closed) run.end();
      else res.once('close', () => run.end());
    }
  };
}

async function readJob(req: Request, res: Response, options: CreateResponseOptions): Promise<Job> {
  const caller = callerOf(res);
  const idempotencyKey = parseIdempotencyKey(req.headers['idempotency-key']);
  const { bytes, value } = await readJsonBody(req, { maxBytes: options.maxBodyBytes });
  const bytesRemembered = options.itemMemory.resolve(caller.identity, value);
  const request = validateCreateResponse(value);
  noteModel(res, request.model);
  const translation = toChatRequest(request, {
    ...options,
    openSeal: (sealed) => options.sealer.open(caller.identity, sealed),
  });
  const inputSize = inputSizeOf(translation.chat, bytes.length + bytesRemembered);
  const unique = options.newUniquePart();
  const createdAtMs = options.nowMs();
  const { identities } = options;
  return {
    caller,
    request,
    translation,
    inputSize,
    translator: createTranslator({
      response: initialResponse(request, translation.tools, { unique, createdAtS: Math.floor(createdAtMs / 1000) }),
      unique,
      tools: translation.tools,
      usedCallIds: translation.usedCallIds,
      reasoningOutput: options.reasoningOutput,
      ...(wantsSealedReasoning(request) && { seal: (text: string) => options.sealer.seal(caller.identity, text) }),
      thinkTags: options.dialect.thinkTags,
      logprobs: wantsLogprobs(request),
      maxToolCalls: request.max_tool_calls ?? null,
      nowS: () => Math.floor(options.nowMs() / 1000),
    }),
    draft: {
      requestId: toRequestId(unique),
      caller: caller.identity,
      endpoint: 'responses',
      model: request.model,
      stream: request.stream === true,
      createdAtMs,
      estimatedInputTokens: options.estimator.estimateInput(translation.chat.model, inputSize),
      ...(idempotencyKey !== undefined && {
        idempotency: {
          key: identities.idempotencyKey(caller.identity, idempotencyKey),
          body: identities.body(caller.identity, bytes),
        },
      }),
    },
  };
}

/** Writes the record and returns undefined, or returns the original which this request repeats. */
async function accept(
  draft: RecordDraft,
  { store, running }: CreateResponseOptions,
): Promise<StoredRecord | undefined> {
  if (!running.draining) {
    const acceptance = await store.accept(draft);
    return acceptance.kind === 'duplicate' ? acceptance.record : undefined;
  }
  const original = draft.idempotency && (await store.findDuplicate(draft.caller, draft.idempotency));
  if (original === undefined) throw new ApiError('gateway_draining', { headers: { 'retry-after': '1' } });
  return original;
}

async function perform(job: Job, run: RunningRequest, res: Response, options: CreateResponseOptions): Promise<void> {
  const { draft, translation, translator } = job;
  let keepsKey = false;
  res.setHeader('x-request-id', draft.requestId);
  if (translation.tools.dropped.length > 0) res.setHeader('x-dropped-tools', toHeaderList(translation.tools.dropped));
  try {
    await runExchange({
      backend: options.backend,
      chat: translation.chat,
      backendHeaders: job.caller.backendHeaders,
      translator,
      run,
      reply: draft.stream
        ? createStreamReply(res, translator, {
            signal: run.signal,
            headerHoldMs: options.headerHoldMs,
            commentMs: options.keepaliveCommentMs,
            eventMs: options.keepaliveEventMs,
            stallMs: options.clientStallMs,
          })
        : createJsonReply(res, translator, { stallMs: options.clientStallMs }),
      onEnd: () => (keepsKey = settle(job, options, res)),
      onInternalError: (thrown) => res.log.error({ err: thrown }, 'the gateway failed'),
    });
  } catch (error) {
    // With the same key the SDKs would only be told that the request is a duplicate.
    if (keepsKey && draft.idempotency !== undefined) res.setHeader('x-should-retry', 'false');
    throw error;
  }
}

/**
 * Hands the final state to the store, which sees it before any question the client can ask from now on. Nobody waits for it:
 * a store that is out of order must not keep the answer from the client. Returns whether the idempotency key stays taken.
 */
function settle(
  { caller, request, draft, translation, translator, inputSize }: Job,
  options: CreateResponseOptions,
  res: Response,
): boolean {
  const { store, estimator } = options;
  if (translator.failure === null && request.store !== false) {
    options.itemMemory.remember(caller.identity, translator.response.output);
  }
  const { model } = translation.chat;
  const { usage, outputLength } = translator;
  if (usage !== null) estimator.learn(model, inputSize, outputLength, usage);
  const outcome = outcomeOf(translator, {
    completedAtMs: options.nowMs(),
    keyOwner: options.keyOwner,
    estimateUsage: () =>
      toUsage(estimator.estimateInput(model, inputSize), estimator.estimateOutput(model, outputLength)),
  });
  const written = outcome === 'discard' ? store.discard(draft.requestId) : store.finish(draft.requestId, outcome);
  written.catch((error: unknown) => res.log.error({ err: error }, 'the end of the request is not recorded yet'));
  return outcome !== 'discard' && !outcome.freesIdempotencyKey;
}

function toUsage(inputTokens: number, outputTokens: number): Usage {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

/** Clients take 16 KiB of headers, or less, and lose the reply with any more. */
const MAX_LISTED = 50;

/** The types come from the request, and a header takes less than a JSON string does. */
function toHeaderList(types: readonly string[]): string {
  return types
    .slice(0, MAX_LISTED)
    .map((type) => type.replaceAll(/[^\w.:-]/g, '_'))
    .join(', ');
}
