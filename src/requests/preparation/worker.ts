/** Prepares large requests beside the event loop. preparation.ts starts this thread. */
import { parentPort, workerData } from 'node:worker_threads';
import type { CompactionOptions } from '../../core/compaction/compaction.ts';
import type { ChatRequest } from '../../core/chat.ts';
import type { CreateResponse } from '../../contract/types.ts';
import type { ModelTable } from '../../contract/settings-types.ts';
import { encodeChat, type EncodedChat } from '../../core/encoded-chat.ts';
import { ApiError, type ApiErrorOptions, type ErrorCode } from '../../core/errors.ts';
import type { Edit } from '../../core/json-bytes.ts';
import { parseJson } from '../../core/parse-json.ts';
import { echoOf } from '../../core/reply/initial-response.ts';
import { createModels } from '../../core/models.ts';
import { routesOf, type Route, type Routing } from '../../core/routes.ts';
import { rememberUsedFields, type UsedFields } from '../../core/request/used-fields.ts';
import { openRpc } from '../../rpc/rpc.ts';
import type { ModelInput } from '../../core/tokens/estimate.ts';
import { digestOf } from '../../identity/identities.ts';
import { createSealers } from '../../identity/seal.ts';
import { routeChat, type RoutedChat } from './route.ts';
import { prepareFrame, readCreateFrame, type CreateFrame, type Turns } from './frame.ts';
import { referencesIn, resolveReferences, type RememberedItem } from '../item-memory.ts';
import { bufferOf, memoryOf } from '../../core/collected-bytes.ts';
import type { ResponsePlan } from '../plan.ts';
import { prepareChat, type PreparedChat } from './chat.ts';
import { prepareCount, type InputToCount } from './count.ts';
import {
  prepareTurn,
  type ParsedRequest,
  type Prepared,
  type PrepareOptions,
  type PrepareServices,
  type ReceivedRequest,
  type TranslationSettings,
} from './response.ts';

/** A thread cannot be sent functions, so it makes the sealers itself. */
export interface ThreadSettings
  extends
    Omit<TranslationSettings, 'sealers' | 'routes' | 'usedFields'>,
    Pick<CompactionOptions, 'compactionModel' | 'compactionMaxOutputTokens'> {
  readonly secret: string;
  readonly gatewaySecretPrevious: string | null;
  readonly maxBodyBytes: number;
  readonly itemMemoryTtlS: number;
  readonly defaultMaxOutputTokens: number;
}

export interface LargeRequest extends Omit<ReceivedRequest, 'bytes'> {
  readonly modelTable: ModelTable | null;
  readonly routing: Routing;
  readonly usedFields: UsedFields['table'];
  readonly bytes: Uint8Array;
  readonly isIdempotent: boolean;
  /** The items that the input refers to, once the thread has asked for them. */
  readonly recalled?: ReadonlyMap<string, RememberedItem>;
  /** The estimate for the input, once the thread has asked for it. */
  readonly inputTokens?: number;
}

/** A plan that can be sent. Only the thread can resume after a compaction. */
export interface SentPlan extends Omit<ResponsePlan, 'translation' | 'compaction'> {
  readonly translation: ResponsePlan['translation'] & { readonly chat: EncodedChat };
  readonly compaction: { readonly chat: EncodedChat; readonly route: Route; readonly resumes: boolean } | undefined;
}

export interface ReadFrame {
  readonly frame: CreateFrame;
  readonly prepared?: SentPlan;
}

export interface SentChat extends Omit<PreparedChat, 'edits'> {
  readonly edits: { readonly plain: readonly Edit[]; readonly withUsage: readonly Edit[] };
}

interface Refused {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  readonly options: ApiErrorOptions;
}

type Need =
  | { readonly kind: 'refers'; readonly ids: readonly string[] }
  | { readonly kind: 'weighs'; readonly input: ModelInput };

type Decided<Result> = { readonly kind: 'prepared'; readonly result: Result } | Need | Refused;

/** With the bytes of the request, which were transferred to the thread, and their SHA-256 if it has an idempotency key. */
export type Answer<Result> = Decided<Result> & { readonly bytes: Uint8Array; readonly digest?: Uint8Array };

/** How a request came: its answer to a preparation is made in the same way again to resume. */
export type PreparedAs = PrepareOptions | { readonly past: Turns | undefined };

export type LargeService = {
  readonly response: (request: LargeRequest, options: PrepareOptions) => Answer<SentPlan>;
  readonly frame: (request: LargeRequest) => Answer<ReadFrame>;
  readonly continued: (request: LargeRequest, past: Turns | undefined) => Answer<SentPlan>;
  readonly resume: (request: LargeRequest, as: PreparedAs, encryptedContent: string) => Answer<EncodedChat>;
  readonly count: (request: LargeRequest) => Answer<InputToCount>;
  readonly chat: (request: LargeRequest) => Answer<SentChat>;
  readonly route: (request: LargeRequest) => Answer<RoutedChat>;
};

// Only preparation.ts starts this thread.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const settings = workerData as ThreadSettings;
const sealers = createSealers(settings.secret, settings.gatewaySecretPrevious);

/** The bytes of the next answer, which are transferred and not copied. */
let transferred: ArrayBuffer[] = [];

const service: LargeService = {
  response: (request, options) =>
    answer(request, (received, services) => toSentPlan(prepareTurn(parse(received), options, services))),
  frame: (request) =>
    answer(request, (received, services) => {
      const { whole, frame } = readFrame(received);
      received.isIdempotent = frame.idempotencyKey !== undefined;
      // What is refused with an idempotency key may have a duplicate, which is looked for when the key is known.
      if (frame.previousResponseId !== undefined || frame.idempotencyKey !== undefined) return { frame };
      return { frame, prepared: toSentPlan(prepareFrame(frame, { ...whole, past: undefined }, services)) };
    }),
  continued: (request, past) =>
    answer(request, (received, services) => {
      const { whole, frame } = readFrame(received);
      return toSentPlan(prepareFrame(frame, { ...whole, past }, services));
    }),
  resume: (request, as, encryptedContent) =>
    answer(request, (received, services) => {
      const whole = parse(received);
      const { compaction } =
        'endpoint' in as
          ? prepareTurn(whole, as, services)
          : prepareFrame(readCreateFrame(whole.value), { ...whole, ...as }, services);
      const chat = compaction?.resume?.(encryptedContent);
      if (chat === undefined) throw new Error('this request has no compaction on its way');
      return encode(chat);
    }),
  count: (request) =>
    answer(request, (received, services) => {
      const { chat, ...input } = prepareCount(parse(received), services);
      return input.route.dialect.inputCounter === null ? input : { ...input, chat: encode(chat) };
    }),
  chat: (request) =>
    answer(request, (received, services) => {
      const { edits, ...plan } = prepareChat(parse(received), services);
      return { ...plan, edits: { plain: edits(false), withUsage: edits(true) } };
    }),
  route: (request) => answer(request, ({ bytes, identity }, services) => routeChat(bytes, identity, services)),
};

const { receive } = openRpc((message) => {
  parentPort?.postMessage(message, transferred);
  transferred = [];
}, service);
parentPort?.on('message', receive);

/** Only the main thread knows what was learnt about tokens, and the items of earlier answers. */
class NeedsMore extends Error {
  readonly need: Need;

  constructor(need: Need) {
    super('the main thread has more to tell');
    this.need = need;
  }
}

interface Received extends ReceivedRequest {
  /** The key of a frame is in its bytes, and is found when they are first read. */
  isIdempotent: boolean;
}

function answer<Result>(
  { bytes, modelTable, routing, usedFields, recalled, inputTokens, ...received }: LargeRequest,
  work: (received: Received, services: PrepareServices) => Result,
): Answer<Result> {
  transferred = [...memoryOf(bytes)];
  const services: PrepareServices = {
    ...settings,
    routes: routesOf(routing),
    usedFields: rememberUsedFields(usedFields),
    models: { present: modelTable && createModels(modelTable) },
    sealers,
    estimator: {
      estimateInput(input) {
        if (inputTokens === undefined) throw new NeedsMore({ kind: 'weighs', input });
        return inputTokens;
      },
    },
    itemMemory: {
      resolve(_caller, value) {
        if (settings.itemMemoryTtlS === 0) return 0;
        const ids = recalled === undefined ? referencesIn(value) : [];
        if (ids.length > 0) throw new NeedsMore({ kind: 'refers', ids });
        return resolveReferences(value, { find: (id) => recalled?.get(id), maxBytes: settings.maxBodyBytes });
      },
    },
  };
  const whole = { ...received, bytes: bufferOf(bytes) };
  const sent = () => ({ bytes, ...(whole.isIdempotent && { digest: digestOf(bytes) }) });
  try {
    return { kind: 'prepared', result: work(whole, services), ...sent() };
  } catch (error) {
    if (error instanceof NeedsMore) return { ...error.need, bytes };
    if (!(error instanceof ApiError)) throw error;
    const { code, message, param, status, headers } = error;
    return { kind: 'refused', code, options: { message, param, status, headers }, ...sent() };
  }
}

function parse(received: Received): ParsedRequest {
  return { ...received, value: parseJson(received.bytes) };
}

function readFrame(received: Received) {
  const whole = parse(received);
  return { whole, frame: readCreateFrame(whole.value) };
}

function toSentPlan({ translation, compaction, request, ...plan }: Prepared): SentPlan {
  const { chat, usedCallIds, tools } = translation;
  const { originals, offeredCount, callable } = tools;
  const echo = encoder.encode(JSON.stringify(echoOf(request, tools)).slice(1, -1));
  transferred.push(echo.buffer);
  if (plan.turn !== undefined) transferred.push(plan.turn.buffer);
  return {
    ...plan,
    request: repeatedOf(request),
    echo,
    translation: {
      // Before a compaction only the model is asked for.
      chat: encode(compaction === undefined ? chat : { model: chat.model, messages: [] }),
      tools: { echo: [], originals, offeredCount, callable },
      usedCallIds,
    },
    compaction: compaction && {
      chat: encode(compaction.chat),
      route: compaction.route,
      resumes: compaction.resume !== undefined,
    },
  };
}

function repeatedOf(request: CreateResponse): SentPlan['request'] {
  const repeated: Partial<CreateResponse> = Object.fromEntries(
    REPEATED.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name]]])),
  );
  return { ...repeated, model: request.model };
}

/** All of them are small. */
const REPEATED = [
  'frequency_penalty',
  'include',
  'max_output_tokens',
  'max_tool_calls',
  'parallel_tool_calls',
  'presence_penalty',
  'prompt_cache_key',
  'safety_identifier',
  'store',
  'stream',
  'temperature',
  'top_logprobs',
  'top_p',
  'truncation',
] as const satisfies readonly (keyof CreateResponse)[];

const encoder = new TextEncoder();

function encode(chat: ChatRequest): EncodedChat {
  const encoded = encodeChat(chat);
  transferred.push(encoded.bulk.buffer);
  return encoded;
}
