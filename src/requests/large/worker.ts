/** Prepares large requests beside the event loop. thread.ts starts this thread. */
import { parentPort } from 'node:worker_threads';
import type { CompactionOptions } from '../../core/compaction/compaction.ts';
import type { ChatRequest } from '../../core/chat.ts';
import { isKnownParameter } from '../../contract/known-parameters.ts';
import { encodeChat, type EncodedChat } from '../../core/encoded-chat.ts';
import { ApiError, type ApiErrorOptions, type ErrorCode } from '../../core/errors.ts';
import { parseJson } from '../../core/parse-json.ts';
import { openRpc } from '../../rpc/rpc.ts';
import type { ModelInput } from '../../core/tokens/estimate.ts';
import type { Identity } from '../../identity/identities.ts';
import { createSealers } from '../../identity/seal.ts';
import { referencesIn, resolveReferences, type RememberedItem } from '../item-memory.ts';
import type { ResponsePlan } from '../plan.ts';
import { prepare, type Prepared, type TranslationSettings } from '../prepare.ts';
import { validateCreateResponse } from '../validate.ts';

/** A thread cannot be sent functions, so it makes the sealers itself. */
export interface ThreadSettings
  extends
    Omit<TranslationSettings, 'sealers'>,
    Pick<CompactionOptions, 'compactionModel' | 'compactionMaxOutputTokens'> {
  readonly secret: string;
  readonly secretPrevious: string | null;
  readonly maxBodyBytes: number;
  readonly itemMemoryTtlS: number;
  readonly defaultMaxOutputTokens: number;
}

export interface LargeRequest {
  readonly settings: ThreadSettings;
  readonly bytes: Uint8Array;
  readonly identity: Identity;
  readonly isLimited: boolean;
  readonly needsOutputLimit: boolean;
  /** The items that the input refers to, once the thread has asked for them. */
  readonly recalled?: ReadonlyMap<string, RememberedItem>;
  /** The estimate for the input, once the thread has asked for it. */
  readonly inputTokens?: number;
}

/** A plan that can be sent. Only the thread can resume after a compaction. */
export interface SentPlan extends Omit<ResponsePlan, 'translation' | 'compaction'> {
  readonly translation: ResponsePlan['translation'] & { readonly chat: EncodedChat };
  readonly compaction: { readonly chat: EncodedChat; readonly resumes: boolean } | undefined;
}

interface Refused {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  readonly options: ApiErrorOptions;
}

export type Answer<Result> =
  | { readonly kind: 'prepared'; readonly result: Result }
  | { readonly kind: 'refers'; readonly ids: readonly string[] }
  | { readonly kind: 'weighs'; readonly input: ModelInput }
  | Refused;

export type PrepareService = {
  readonly prepare: (request: LargeRequest) => Answer<SentPlan>;
  readonly resume: (request: LargeRequest, encryptedContent: string) => Answer<EncodedChat>;
};

/** The bytes of the next answer, which are moved and not copied. */
const transferred: ArrayBuffer[] = [];

const service: PrepareService = {
  prepare: (request) => answer(request, toSentPlan),
  resume: (request, encryptedContent) =>
    answer(request, ({ compaction }) => {
      const chat = compaction?.resume?.(encryptedContent);
      if (chat === undefined) throw new Error('this request has no compaction on its way');
      return encode(chat);
    }),
};

const { receive } = openRpc((message) => parentPort?.postMessage(message, transferred.splice(0)), service);
parentPort?.on('message', receive);

/** Only the main thread knows what was learnt about tokens. */
class NotWeighed extends Error {
  readonly input: ModelInput;

  constructor(input: ModelInput) {
    super('the input has not been weighed yet');
    this.input = input;
  }
}

function answer<Result>(request: LargeRequest, finish: (plan: Prepared) => Result): Answer<Result> {
  try {
    const { settings, identity, isLimited, needsOutputLimit, recalled } = request;
    const bytes = Buffer.from(request.bytes.buffer, request.bytes.byteOffset, request.bytes.length);
    const value = parseJson(bytes);
    const resolves = settings.itemMemoryTtlS > 0;
    const ids = resolves && recalled === undefined ? referencesIn(value) : [];
    if (ids.length > 0) return { kind: 'refers', ids };
    const find = (id: string) => recalled?.get(id);
    const resolve = () => (resolves ? resolveReferences(value, { find, maxBytes: settings.maxBodyBytes }) : 0);
    const estimateInput = (input: ModelInput): number => {
      if (request.inputTokens === undefined) throw new NotWeighed(input);
      return request.inputTokens;
    };
    const sealers = createSealers(settings.secret, settings.secretPrevious);
    const plan = prepare(
      {
        endpoint: 'responses',
        identity,
        isLimited,
        needsOutputLimit,
        value,
        mayBeEmpty: false,
        validate: validateCreateResponse,
      },
      { ...settings, sealers, estimator: { estimateInput }, itemMemory: { resolve } },
    );
    return { kind: 'prepared', result: finish(plan) };
  } catch (error) {
    if (error instanceof NotWeighed) return { kind: 'weighs', input: error.input };
    if (!(error instanceof ApiError)) throw error;
    const { code, message, param, status, headers } = error;
    return { kind: 'refused', code, options: { message, param, status, headers } };
  }
}

function toSentPlan({ translation, compaction, request, ...plan }: Prepared): SentPlan {
  const { chat, droppedItems, usedCallIds } = translation;
  const { ignored } = translation.parameters;
  const { echo, dropped, originals, callable } = translation.tools;
  const { input: _input, tools: _tools, ...echoed } = request;
  for (const name of Object.keys(echoed)) if (!isKnownParameter(name)) Reflect.deleteProperty(echoed, name);
  Reflect.deleteProperty(echoed, 'extra_body');
  return {
    ...plan,
    request: echoed,
    translation: {
      // Before a compaction only the model is asked for.
      chat: encode(compaction === undefined ? chat : { model: chat.model, messages: [] }),
      tools: { echo, dropped, originals, callable },
      parameters: { ignored },
      droppedItems,
      usedCallIds,
    },
    compaction: compaction && { chat: encode(compaction.chat), resumes: compaction.resume !== undefined },
  };
}

function encode(chat: ChatRequest): EncodedChat {
  const encoded = encodeChat(chat);
  transferred.push(encoded.bulk.buffer);
  return encoded;
}
