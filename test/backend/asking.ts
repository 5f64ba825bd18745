import type { RelayedRead } from '../../src/backend/answer.ts';
import {
  type AskOptions,
  type ChatBackend,
  type ChatBackendOptions,
  type ChatRelay,
  createChatBackend,
  type RelayedAnswer,
  type RelayRequest,
} from '../../src/backend/chat.ts';
import type { RelayedRefusal } from '../../src/backend/refusal.ts';
import type { Reuse } from '../../src/backend/reuse.ts';
import type { ChatBatch, ChatChunk, ChatRequest } from '../../src/core/chat.ts';
import type { ChatBody } from '../../src/core/encoded-chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import { pull } from '../support/pull.ts';

export const JSON_REQUEST: ChatRequest = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
export const STREAM_REQUEST: ChatRequest = { ...JSON_REQUEST, stream: true, stream_options: { include_usage: true } };

export function textChunk(content: string): ChatChunk {
  return {
    id: 'c1',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  };
}

export function completion(content: string): ChatChunk {
  return {
    id: 'c1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  };
}

/** What is known of a backend whose connections last. */
const LASTING: Reuse = {
  watch: () => ({ ended: (_headers, giveBack) => giveBack(), closed: () => {}, isOld: () => false }),
};

/** Waits long, since only a test of a limit is about time; it sets its own. */
export function connectTo(
  baseUrl: string,
  overrides: Partial<ChatBackendOptions> = {},
): ReturnType<typeof createChatBackend> {
  return createChatBackend({
    baseUrl,
    keyOwner: 'caller',
    connectTimeoutMs: 60_000,
    firstByteTimeoutMs: 60_000,
    idleTimeoutMs: 60_000,
    streamOptions: true,
    reuse: LASTING,
    ...overrides,
  });
}

/** An answer that has begun, to be taken piece by piece. */
export interface ChatAnswer {
  readonly headers: Readonly<Record<string, string>>;
  readonly batches: AsyncIterable<ChatBatch>;
}

/** Resolves when the answer has begun. Throws what `ask` throws before that; the batches throw the rest. */
export function askFor(backend: ChatBackend, request: ChatBody, options: AskOptions): Promise<ChatAnswer> {
  const { take, end, pieces } = pull<ChatBatch>();
  const begun = Promise.withResolvers<ChatAnswer>();
  const over = backend.ask(request, options, {
    begin: ({ headers }) => begun.resolve({ headers, batches: pieces }),
    take,
  });
  over.then(end, end);
  return Promise.race([begun.promise, over.then(() => begun.promise)]);
}

export type Answered = RelayedAnswer & { readonly kind: 'answered'; readonly reads: AsyncIterable<RelayedRead> };
export type RelayAnswer = Answered | (RelayedRefusal & { readonly kind: 'refused' });

/** As `askFor`, for a request that is passed on. */
export function relayFor(relay: ChatRelay, request: RelayRequest, options: AskOptions): Promise<RelayAnswer> {
  const { take, end, pieces } = pull<RelayedRead>();
  const begun = Promise.withResolvers<RelayAnswer>();
  const begin = (answer: RelayedAnswer): undefined => {
    begun.resolve({ kind: 'answered', ...answer, reads: pieces });
  };
  const over = relay.relay(request, options, { begin, take });
  over.then(() => end(), end);
  const refused = over.then((refusal) =>
    refusal === undefined ? begun.promise : ({ kind: 'refused', ...refusal } as const),
  );
  return Promise.race([begun.promise, refused]);
}

export async function collect(answer: ChatAnswer): Promise<ChatBatch[]> {
  const batches: ChatBatch[] = [];
  for await (const batch of answer.batches) batches.push(batch);
  return batches;
}

export function chunksOf(batches: readonly ChatBatch[]): ChatChunk[] {
  return batches.flatMap((batch) => batch.chunks);
}

/** All the text, whether of deltas or of messages. */
export function textOf(batches: readonly ChatBatch[]): string {
  const choices = chunksOf(batches).flatMap((chunk) => (chunk['choices'] ?? []) as { delta?: { content?: string } }[]);
  return choices.map((choice) => choice.delta?.content ?? '').join('');
}

/** What the promise is rejected with; a test fails when it is not. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a rejection');
}

export async function apiRejection(promise: Promise<unknown>): Promise<ApiError> {
  const error = await rejection(promise);
  if (!(error instanceof ApiError)) throw new Error('expected an ApiError', { cause: error });
  return error;
}
