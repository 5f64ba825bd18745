import type { ChatRequest } from './chat.ts';
import { encodeJson } from './encode-json.ts';

/** In UTF-16 code units of JSON. */
const MAX_SMALL_LENGTH = 16 * 1024;
/** These fields stay readable while they are small, since a backend may refuse all but the first two. */
const SMALL = [
  'model',
  'stream',
  'stream_options',
  'prompt_cache_key',
  'parallel_tool_calls',
  'service_tier',
  'reasoning_effort',
  'verbosity',
  'reasoning',
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

/** Exact integers (exact-integers.ts) cannot be sent from the thread as values. */
const LONG_INTEGER = /\d{16}/;

/** Returns the chat request with bytes in memory of their own, so that they can be transferred. */
export function encodeChat(chat: ChatRequest): EncodedChat {
  const entries = Object.entries(chat);
  const small = Object.fromEntries(entries.filter(([name, value]) => isSmall(name, value)));
  const large = Object.fromEntries(entries.filter(([name]) => !Object.hasOwn(small, name)));
  const bulk = encodeJson(large, { inOwnMemory: true });
  bulk[0] = COMMA;
  return { ...small, model: chat.model, bulk };
}

const COMMA = 0x2c;

function isSmall(name: string, value: unknown): boolean {
  if (!SMALL.some((small) => small === name)) return false;
  const json = JSON.stringify(value);
  return json.length <= MAX_SMALL_LENGTH && !LONG_INTEGER.test(json);
}

export function isEncoded(chat: ChatBody): chat is EncodedChat {
  return 'bulk' in chat;
}
