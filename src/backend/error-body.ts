import type { ChatChunk } from '../core/chat.ts';
import { isObject, readJson } from '../core/json.ts';

export interface ErrorWords {
  /** Must be cleaned before it is passed on. It is empty if there is none. */
  readonly message: string;
  readonly codes: readonly string[];
  readonly param: string;
  readonly status: number | undefined;
}

export interface ErrorBody extends ErrorWords {
  readonly form: 'openai' | 'other' | 'html' | 'empty';
}

/** In UTF-16 code units, as much as is read of a refusal. In a longer body no string is parsed again. */
const MAX_SEARCHED = 64 * 1024;
/** In UTF-16 code units. Callers see less, and what is looked for is at the beginning. */
const MAX_MESSAGE = 4000;
const MAX_CODES = 20;
const MAX_CODE = 200;
/** Allows for an error in an error in a JSON string. */
const MAX_DEPTH = 6;
const MAX_PARTS = 5;
const NOTHING: ErrorWords = { message: '', codes: [], param: '', status: undefined };

/** The most trusted comes first. `title` comes last because problem+json has a better `detail`. */
const MESSAGE_FIELDS = [
  'error',
  'errors',
  'message',
  'detail',
  'msg',
  'Message',
  'error_message',
  'error_msg',
  'status_msg',
  'base_resp',
  'errorMessage',
  'error_description',
  'fault',
  'faultstring',
  'title',
] as const;

/** Reads any JSON, an event, HTML, plain text or nothing. What it returns is short. Never throws. */
export function readErrorBody(body: string): ErrorBody {
  const words = readWhole(body);
  return {
    ...words,
    message: words.message.slice(0, MAX_MESSAGE),
    codes: words.codes.slice(0, MAX_CODES).map((code) => code.slice(0, MAX_CODE)),
  };
}

function readWhole(body: string): ErrorBody {
  const text = body.replace(/^\uFEFF/, '').trim();
  if (text === '') return { ...NOTHING, form: 'empty' };
  if (text.startsWith('<')) return { ...NOTHING, form: 'html' };
  // Some backends send an event with a status of failure.
  const value = readJson(/^data:(.*)$/m.exec(text)?.[1] ?? text);
  const search = { depth: 0, readsStrings: text.length <= MAX_SEARCHED };
  if (value === undefined) return { ...wordsOfText(text, search), form: 'other' };
  return { ...wordsOf(value, search), form: isOpenAiError(value) ? 'openai' : 'other' };
}

/**
 * Returns the error in a chunk or a completion; undefined if there is none. OpenRouter puts it into
 * the choice, and MiniMax beside the choices (platform.minimax.io/docs/api-reference/errorcode); old
 * versions of vLLM and SGLang make the whole object the error.
 */
export function errorIn(answer: ChatChunk): unknown {
  const { error, object, choices, base_resp: base } = answer;
  if (reportsFailure(error)) return error;
  if (object === 'error' || error === true) return answer;
  if (isObject(base) && Boolean(base['status_code'])) return base;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isObject(choice) && reportsFailure(choice['error']) ? choice['error'] : undefined;
}

/** Whether the chunk is none of a chat, but speaks of an error in words of its own. */
export function speaksOfError(chunk: ChatChunk): boolean {
  const { choices, usage, code, error_code: errorCode = code } = chunk;
  if ((Array.isArray(choices) && choices.length > 0) || isObject(usage) || SUCCESS.has(errorCode)) return false;
  return Boolean(errorCode) || firstWords(chunk, { depth: 0, readsStrings: false }).message !== '';
}

/** Home-made servers have an envelope for good news, too. */
const SUCCESS: ReadonlySet<unknown> = new Set([0, 200, '0', '200', 'ok', 'OK', 'success', 'Success']);

function reportsFailure(error: unknown): boolean {
  if (typeof error === 'string') return error !== '';
  // Some backends report success with a code of 0.
  return isObject(error) && [error['message'], error['code'], error['type'], error['status']].some(Boolean);
}

function isOpenAiError(value: unknown): boolean {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(first)) return false;
  const error = first['object'] === 'error' ? first : first['error'];
  return isObject(error) && typeof error['message'] === 'string';
}

interface Search {
  readonly depth: number;
  readonly readsStrings: boolean;
}

function deeper({ depth, readsStrings }: Search): Search {
  return { depth: depth + 1, readsStrings };
}

function wordsOf(value: unknown, search: Search): ErrorWords {
  if (search.depth > MAX_DEPTH) return NOTHING;
  if (typeof value === 'string') return wordsOfText(value, search);
  if (Array.isArray(value)) return wordsOfList(value, search);
  return isObject(value) ? wordsOfObject(value, search) : NOTHING;
}

/** A string may contain the JSON of another error, alone or after the words of a proxy. */
function wordsOfText(text: string, search: Search): ErrorWords {
  if (text.trimStart().startsWith('<')) return NOTHING;
  const start = search.readsStrings ? text.indexOf('{') : -1;
  if (start !== -1) {
    const inner = wordsOf(readJson(text.slice(start, text.lastIndexOf('}') + 1)), deeper(search));
    if (inner.message !== '') return inner;
  }
  return { ...NOTHING, message: text.trim() };
}

function wordsOfList(list: readonly unknown[], search: Search): ErrorWords {
  const parts = list.slice(0, MAX_PARTS).map((item) => wordsOf(item, deeper(search)));
  return {
    message: [...new Set(parts.map((part) => part.message).filter(Boolean))].join('; '),
    codes: parts.flatMap((part) => part.codes),
    param: parts.find((part) => part.param !== '')?.param ?? '',
    status: parts.find((part) => part.status !== undefined)?.status,
  };
}

function wordsOfObject(object: ChatChunk, search: Search): ErrorWords {
  const inner = firstWords(object, search);
  const own = [object['code'], object['type'], object['status']];
  return {
    message: withLocation(object, withCause(object, inner.message, search)),
    codes: [...own.filter((code) => typeof code === 'string' && code !== ''), ...inner.codes].map(String),
    param: typeof object['param'] === 'string' ? object['param'] : inner.param,
    status: toStatus(object['status']) ?? toStatus(object['code']) ?? inner.status,
  };
}

function firstWords(object: ChatChunk, search: Search): ErrorWords {
  for (const field of MESSAGE_FIELDS) {
    const words = wordsOf(object[field], deeper(search));
    if (words.message !== '') return words;
  }
  return NOTHING;
}

/**
 * OpenRouter only says "Provider returned error" and puts the provider's message into `metadata`.
 */
function withCause(object: ChatChunk, message: string, search: Search): string {
  const metadata = object['metadata'];
  const cause = isObject(metadata) ? wordsOf(metadata['raw'], deeper(search)).message : '';
  return cause === '' ? message : `${message}: ${cause}`;
}

/** FastAPI names the wrong field in `loc`. */
function withLocation(object: ChatChunk, message: string): string {
  const location = object['loc'];
  return message !== '' && Array.isArray(location) ? `${location.slice(0, 10).join('.')}: ${message}` : message;
}

function toStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined;
}
