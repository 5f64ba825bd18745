import type { ChatBackend } from '../backend/chat.ts';
import type { ChatChunk } from '../core/chat.ts';
import type { UniquePart } from '../core/ids.ts';
import { wantsLogprobs, wantsSealedReasoning } from '../core/request/request.ts';
import { initialResponse } from '../core/reply/initial-response.ts';
import { readSummary } from '../core/compaction/summary.ts';
import { createTranslator, type Translator } from '../core/reply/translator.ts';
import type { ReasoningOutput } from '../contract/types.ts';
import type { Client } from '../http/responses/client.ts';
import type { AcceptedRequest, ServeAccepted } from './accept.ts';
import type { Ending } from './outcome.ts';
import { noteBackendCall } from './facts.ts';
import { beginCompaction, type Compaction } from './compact.ts';
import { runExchange } from './converse.ts';
import { toJob, type CreateRequest, type Job, type JobOptions } from './prepare.ts';
import { tellLeftOut } from './left-out.ts';

export interface CreateResponseOptions extends JobOptions {
  readonly backend: ChatBackend;
  readonly serveAccepted: ServeAccepted;
  readonly reasoningOutput: ReasoningOutput;
  readonly nowMs: () => number;
}

/** Throws the ApiError of a failure which the client has not been told of. */
export type ServeResponse = (client: Client, create: CreateRequest) => Promise<void>;

/** The story of each request, whatever it came over: accept, or answer the duplicate; ask, translate, reply, settle. */
export function createResponses(options: CreateResponseOptions): ServeResponse {
  return async (client, create) => {
    const job = toJob(client, create, options);
    if (create.isWarmUp === true) return warmUp(job, options);
    await options.serveAccepted(client, job.submission, (accepted) => perform(job, accepted, options));
  };
}

async function perform(
  job: Job,
  { unique, createdAtMs, run, settle }: AcceptedRequest,
  options: CreateResponseOptions,
): Promise<void> {
  const { client, translation, submission } = job;
  const { facts } = client;
  const translator = openTranslator(job, { unique, createdAtMs }, options);
  const compaction = openCompaction(job, unique, options);
  tellLeftOut(client, translation);
  await runExchange({
    backend: options.backend,
    chat: translation.chat,
    backendHeaders: { ...submission.caller.backendHeaders, ...noteBackendCall(facts) },
    translator,
    compaction,
    run,
    facts,
    reply: job.create.openReply(translator, { ...job, signal: run.signal }),
    onEnd() {
      remember(job, translator, options);
      settle(endingOf(translator, compaction));
    },
    onInternalError: (thrown) => facts.log.error({ err: thrown }, 'the gateway failed'),
  });
}

/** What a model says that is asked nothing. */
const NO_OUTPUT: ChatChunk = {
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
  usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
};

/** A client that warms up learns whether its request is right, and gets an id that can be continued. */
async function warmUp(job: Job, options: CreateResponseOptions): Promise<void> {
  const { facts } = job.client;
  tellLeftOut(job.client, job.translation);
  facts.model = job.request.model;
  facts.stream = job.submission.stream;
  const translator = openTranslator(job, { unique: facts.unique, createdAtMs: options.nowMs() }, options);
  const reply = job.create.openReply(translator, { ...job, signal: new AbortController().signal });
  await reply.write(translator.start());
  reply.answered({});
  await reply.write([...translator.feed(NO_OUTPUT), ...translator.end(true)]);
  reply.end();
}

function openTranslator(
  { create, request, translation, submission: { caller } }: Job,
  { unique, createdAtMs }: Pick<AcceptedRequest, 'unique' | 'createdAtMs'>,
  options: CreateResponseOptions,
): Translator {
  return createTranslator({
    response: initialResponse(request, translation.tools, {
      unique,
      createdAtS: Math.floor(createdAtMs / 1000),
      ...(create.continues !== undefined && { previousResponseId: create.continues.responseId }),
    }),
    unique,
    tools: translation.tools,
    usedCallIds: translation.usedCallIds,
    reasoningOutput: options.reasoningOutput,
    state: {
      dialect: options.upstreamDialect,
      model: translation.chat.model,
      seal: (state) => options.sealers.reasoning.seal(caller.identity, state),
      isAskedFor: wantsSealedReasoning(request),
      reasoningField: options.dialect.reasoningField,
    },
    thinkTags: options.dialect.thinkTags,
    logprobs: wantsLogprobs(request),
    maxToolCalls: request.max_tool_calls ?? null,
    nowS: () => Math.floor(options.nowMs() / 1000),
  });
}

function openCompaction(
  { plan, planOptions, request: { model }, submission: { caller } }: Job,
  unique: UniquePart,
  { sealers, dialect, nowMs }: CreateResponseOptions,
): Compaction | undefined {
  if (plan === undefined) return undefined;
  return beginCompaction(plan, {
    options: planOptions,
    summary: readSummary({ model, unique, thinkTags: dialect.thinkTags, nowS: () => Math.floor(nowMs() / 1000) }),
    seal: (text) => sealers.compaction.seal(caller.identity, text),
  });
}

/** Keeps the output items in memory, where the operator has asked for that and the caller does not mind. */
function remember({ request, submission }: Job, translator: Translator, { itemMemory }: CreateResponseOptions): void {
  if (translator.failure !== null || request.store === false) return;
  itemMemory.remember(submission.caller.identity, translator.response.output);
}

function endingOf({ failure, response, usage, outputLength }: Translator, compaction: Compaction | undefined): Ending {
  // A summary that was cut short is told of where nothing came after it.
  const last = compaction?.isAll === true ? compaction.summary.response : response;
  return {
    failure,
    incompleteReason: last.incomplete_details?.reason ?? null,
    usage,
    outputLength,
    hasOutput: outputLength > 0 || response.output.length > 0,
  };
}
