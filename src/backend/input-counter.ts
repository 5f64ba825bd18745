import type { Dialect } from '../core/dialects.ts';
import type { ChatBody } from '../core/encoded-chat.ts';
import { ApiError } from '../core/errors.ts';
import { readBoundedJson } from '../core/json-size.ts';
import { isObject } from '../core/json.ts';
import { toBody, type AskOptions } from './chat.ts';
import { openConnection, openPool, readWhole, type PoolOptions } from './connection.ts';
import { toEndpoint } from './outbound.ts';
import { setLast } from '../core/set-last.ts';

export interface InputCounter {
  /** Returns undefined if the backend cannot tell. Throws only the reason of an aborted signal. */
  count(chat: ChatBody, asking: AskOptions): Promise<number | undefined>;
  close(): Promise<void>;
}

export interface InputCounterOptions extends PoolOptions {
  readonly baseUrl: string;
  readonly inputCounter: Dialect['inputCounter'];
  /** Without any time the backend is not asked. */
  readonly timeoutMs: number;
}

/** Counts must not take the place of generations. */
const MAX_AT_ONCE = 16;
/** vLLM lists the tokens, too. This is enough for half a million of them. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** A backend may be replaced by a newer one. */
const REMEMBERED_MS = 60 * 60 * 1000;
/** Callers choose the names of models. */
const MAX_REMEMBERED = 1000;

/** Returns the counter of the backend itself, which knows vocabulary and chat template. */
export function createInputCounter(options: InputCounterOptions): InputCounter {
  const { baseUrl, inputCounter, timeoutMs } = options;
  if (inputCounter === null || timeoutMs === 0) {
    return { count: () => Promise.resolve(undefined), close: () => Promise.resolve() };
  }
  const { origin, path } = toEndpoint(baseUrl, inputCounter.path);
  const { field } = inputCounter;
  const pool = openPool(origin, options);
  /** For each model, until when the backend is not asked again. */
  const missingUntilMs = new Map<string, number>();
  let running = 0;

  async function ask(chat: ChatBody, { headers, signal }: AskOptions): Promise<number | undefined> {
    const { stream: _stream, stream_options: _options, ...request } = chat;
    const connection = await openConnection(pool, {
      path,
      headers: {
        ...headers,
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        accept: 'application/json',
      },
      body: toBody(request, []),
      signal,
      firstByteTimeoutMs: timeoutMs,
    });
    const text = (await readWhole(connection, MAX_ANSWER_BYTES))?.toString();
    if (text === undefined) return undefined;
    const value = connection.status === 200 ? readBoundedJson(text) : undefined;
    const tokens = isObject(value) ? value[field] : undefined;
    if (typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0) return tokens;
    if (connection.status === 200 || MISSING.has(connection.status))
      setLast(missingUntilMs, chat.model, performance.now() + REMEMBERED_MS, MAX_REMEMBERED);
    return undefined;
  }

  return {
    async count(chat, asking) {
      if (running === MAX_AT_ONCE || (missingUntilMs.get(chat.model) ?? 0) > performance.now()) return undefined;
      running += 1;
      try {
        return await ask(chat, asking);
      } catch (error) {
        asking.signal.throwIfAborted();
        if (error instanceof ApiError) return undefined;
        throw error;
      } finally {
        running -= 1;
      }
    },
    close: () => pool.destroy(),
  };
}

const MISSING: ReadonlySet<number> = new Set([404, 405, 501]);
