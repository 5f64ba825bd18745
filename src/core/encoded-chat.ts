import type { ChatRequest } from './chat.ts';
import { toWellFormedJson } from './well-formed.ts';

/** These fields stay readable, since a backend may refuse all but the first two. */
const SMALL = [
  'model',
  'stream',
  'stream_options',
  'prompt_cache_key',
  'parallel_tool_calls',
  'service_tier',
  'reasoning_effort',
  'verbosity',
  'thinking',
  'chat_template_kwargs',
  'safety_identifier',
  'logprobs',
  'top_logprobs',
  'user',
] as const satisfies readonly (keyof ChatRequest)[];

export type SmallField = (typeof SMALL)[number];

/** A large chat request, which a thread has encoded. */
export interface EncodedChat extends Pick<ChatRequest, SmallField> {
  /** The JSON of all other fields, from the comma before them to the brace at the end. */
  readonly bulk: Uint8Array<ArrayBuffer>;
}

export type ChatBody = ChatRequest | EncodedChat;

const encoder = new TextEncoder();
const isSmall = (name: string): boolean => SMALL.some((small) => small === name);

/** Returns the chat request with bytes in memory of their own, so that they can be transferred. */
export function encodeChat(chat: ChatRequest): EncodedChat {
  const entries = Object.entries(chat);
  const large = Object.fromEntries(entries.filter(([name]) => !isSmall(name)));
  const small = Object.fromEntries(entries.filter(([name]) => isSmall(name)));
  const json = toWellFormedJson(JSON.stringify(large));
  return { ...small, model: chat.model, bulk: encoder.encode(`,${json.slice(1)}`) };
}

/** Whether the chat request has been encoded. */
export function isEncoded(chat: ChatBody): chat is EncodedChat {
  return 'bulk' in chat;
}
