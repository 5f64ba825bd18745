/** What a chat backend says, in its own words, for the tests of the records. */

import type { Script } from '../support/backend.ts';

export const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } as const;

/** The same usage, as records and responses show it. */
export const KNOWN_USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 18,
} as const;

export function text(content: string): object {
  return { choices: [{ index: 0, delta: { content } }] };
}

/** A piece of the arguments of the one call, which the first piece begins. */
export function callArguments(piece: string): object {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: piece } };
  return { choices: [{ index: 0, delta: { tool_calls: [call] } }] };
}

export function finish(reason: string): object {
  return { choices: [{ index: 0, delta: {}, finish_reason: reason }] };
}

export const usageChunk = { choices: [], usage: USAGE };

/** A whole answer, streamed or not, as the backend is asked. */
export function answer(content = 'Hello', reason = 'stop', usage: object | null = USAGE): Script {
  return async ({ request, start, sse, end }) => {
    if ((request.body as { stream?: boolean }).stream === true) {
      start();
      await sse(text(content), finish(reason), ...(usage === null ? [] : [{ choices: [], usage }]), '[DONE]');
      end();
      return;
    }
    start(200, { 'content-type': 'application/json' });
    const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: reason };
    end(JSON.stringify({ choices: [choice], ...(usage !== null && { usage }) }));
  };
}

/** These chunks, also to a request for JSON, since some backends always stream; then silence, a broken connection, or its end. */
export function stream(chunks: readonly unknown[], next: 'hang' | 'cut' | 'end'): Script {
  return async ({ start, sse, hang, cut, end }) => {
    start();
    await sse(...chunks);
    if (next === 'hang') await hang();
    else if (next === 'cut') cut();
    else end();
  };
}
