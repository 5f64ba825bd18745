import {
  type ChatAnswer,
  type ChatBackend,
  type ChatBackendOptions,
  type ChatRelay,
  createChatBackend,
} from '../../src/backend/chat.ts';
import type { ChatBatch, ChatChunk, ChatRequest } from '../../src/core/chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import { spellOut } from '../support/spell-out.ts';

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

export function connectTo(baseUrl: string, overrides: Partial<ChatBackendOptions> = {}): ChatBackend & ChatRelay {
  return createChatBackend({
    baseUrl,
    keyOwner: 'caller',
    connectTimeoutMs: 2000,
    firstByteTimeoutMs: 5000,
    idleTimeoutMs: 5000,
    streamOptions: true,
    ...overrides,
  });
}

export async function collect(answer: ChatAnswer): Promise<ChatBatch[]> {
  const batches: ChatBatch[] = [];
  for await (const batch of answer.batches) batches.push(batch);
  return batches;
}

/** All the chunks, as the backend sent them. */
export function chunksOf(batches: readonly ChatBatch[]): ChatChunk[] {
  return spellOut(batches.flatMap((batch) => batch.chunks));
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
