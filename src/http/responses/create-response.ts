import type { ChatBackend } from '../../backend/chat.ts';
import type { ChatChunk } from '../../core/chat.ts';
import type { Dialect } from '../../core/dialects.ts';
import { inputSizeOf } from '../../core/estimate.ts';
import { toChatRequest, wantsLogprobs, wantsSealedReasoning, type Translation } from '../../core/request.ts';
import { initialResponse } from '../../core/response.ts';
import { createTranslator, type Translator } from '../../core/translator.ts';
import type { Sealer } from '../../seal.ts';
import type { CreateResponse, HostedToolsPolicy, ImageUrlPolicy, ReasoningOutput } from '../../types/contract.ts';
import type { AcceptedRequest, ServeAccepted, Submission } from '../records/accept.ts';
import type { Caller } from '../access/authenticate.ts';
import type { Client } from '../client.ts';
import { runExchange } from './exchange.ts';
import type { JsonBody } from '../body/body.ts';
import { URL_FAULTS } from './image-urls.ts';
import type { ItemMemory } from './item-memory.ts';
import type { Ending } from '../records/outcome.ts';
import type { Reply } from './reply.ts';
import { noteBackendCall } from '../telemetry/request-facts.ts';
import { validateCreateResponse } from '../validate.ts';
import type { StopSignal } from '../../core/stop-signal.ts';

export interface CreateResponseOptions {
  readonly backend: ChatBackend;
  readonly serveAccepted: ServeAccepted;
  readonly sealer: Sealer;
  readonly itemMemory: ItemMemory;
  readonly dialect: Dialect;
  readonly modelAliases: ReadonlyMap<string, string>;
  readonly hostedTools: HostedToolsPolicy;
  readonly imageUrls: ImageUrlPolicy;
  readonly reasoningOutput: ReasoningOutput;
  readonly nowMs: () => number;
}

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
  readonly openReply: (
    translator: Translator,
    wish: { readonly stream: boolean; readonly signal: StopSignal },
  ) => Reply;
}

/** Throws the ApiError of a failure which the client has not been told of. */
export type ServeResponse = (client: Client, create: CreateRequest) => Promise<void>;

/** One request as it is translated and recorded; the value which the steps below hand on. */
interface Job {
  readonly client: Client;
  readonly create: CreateRequest;
  readonly request: CreateResponse;
  readonly translation: Translation;
  readonly submission: Submission;
}

/** The story of each request, whatever it came over: accept, or answer the duplicate; ask, translate, reply, settle. */
export function createResponses(options: CreateResponseOptions): ServeResponse {
  return async (client, create) => {
    const job = toJob(client, create, options);
    if (create.isWarmUp === true) return warmUp(job, options);
    await options.serveAccepted(client, job.submission, (accepted) => perform(job, accepted, options));
  };
}

function toJob(client: Client, create: CreateRequest, options: CreateResponseOptions): Job {
  const {
    caller,
    idempotencyKey,
    body: { bytes, value },
  } = create;
  const bytesRemembered = options.itemMemory.resolve(caller.identity, value) + (create.continues?.bytes ?? 0);
  const request = validateCreateResponse(value);
  const translation = toChatRequest(request, {
    ...options,
    openSeal: (sealed) => options.sealer.open(caller.identity, sealed),
    urlFault: URL_FAULTS[options.imageUrls],
  });
  return {
    client,
    create,
    request,
    translation,
    submission: {
      caller,
      endpoint: 'responses',
      model: request.model,
      backendModel: translation.chat.model,
      stream: request.stream === true,
      body: bytes,
      idempotencyKey,
      inputSize: inputSizeOf(translation.chat, bytes.length + bytesRemembered),
      maxOutputTokens: request.max_output_tokens ?? null,
      choices: 1,
    },
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
  if (translation.tools.dropped.length > 0)
    client.setHeader('x-dropped-tools', toHeaderList(translation.tools.dropped));
  await runExchange({
    backend: options.backend,
    chat: translation.chat,
    backendHeaders: { ...submission.caller.backendHeaders, ...noteBackendCall(facts) },
    translator,
    run,
    facts,
    reply: job.create.openReply(translator, { stream: submission.stream, signal: run.signal }),
    onEnd() {
      remember(job, translator, options);
      settle(endingOf(translator));
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
  facts.model = job.request.model;
  facts.stream = job.submission.stream;
  const translator = openTranslator(job, { unique: facts.unique, createdAtMs: options.nowMs() }, options);
  const reply = job.create.openReply(translator, { stream: true, signal: new AbortController().signal });
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
    ...(wantsSealedReasoning(request) && { seal: (text: string) => options.sealer.seal(caller.identity, text) }),
    thinkTags: options.dialect.thinkTags,
    logprobs: wantsLogprobs(request),
    maxToolCalls: request.max_tool_calls ?? null,
    nowS: () => Math.floor(options.nowMs() / 1000),
  });
}

/** Keeps the output items in memory, where the operator has asked for that and the caller does not mind. */
function remember({ request, submission }: Job, translator: Translator, { itemMemory }: CreateResponseOptions): void {
  if (translator.failure !== null || request.store === false) return;
  itemMemory.remember(submission.caller.identity, translator.response.output);
}

function endingOf({ failure, response, usage, outputLength }: Translator): Ending {
  return {
    failure,
    incompleteReason: response.incomplete_details?.reason ?? null,
    usage,
    outputLength,
    hasOutput: outputLength > 0 || response.output.length > 0,
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
