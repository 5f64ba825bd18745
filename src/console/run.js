import { broken, finalResponse, isAbort, readJson } from './client.js';

/** @import { CreateResponse, ResponseEvent, ResponseResource } from '../contract/types.ts' */
/** @import { Client } from './client.js' */

/** Limits one event. The gateway's own limit for backends is lower. */
const MAX_EVENT_CHARACTERS = 64 * 1024 * 1024;

/**
 * @typedef {object} RunOptions
 * @property {Client} client
 * @property {CreateResponse} request
 * @property {string} idempotencyKey Also finds a request without an answer.
 * @property {AbortSignal} signal
 * @property {(reply: Response) => void} onReply
 * @property {(event: ResponseEvent) => void} onEvent
 */

/**
 * Sends the request and returns the response in its final state. Throws Failure, or AbortError when
 * the signal aborts.
 * @type {(options: RunOptions) => Promise<ResponseResource>}
 */
export async function run({ client, request, idempotencyKey, signal, onReply, onEvent }) {
  const headers = { 'idempotency-key': idempotencyKey };
  // It comes while the backend thinks.
  const parser = import('./vendor/eventsource-parser/stream.js').catch(() => {
    throw broken();
  });
  // Without a reply nobody asks for it.
  parser.catch(() => undefined);
  const reply = await client.post('responses', request, { signal, headers });
  onReply(reply);
  if (reply.body === null || request.stream !== true) return /** @type {ResponseResource} */ (await readJson(reply));
  /** @type {ResponseResource | null} */
  let last = null;
  for await (const event of readEvents(reply.body, await parser)) {
    onEvent(event);
    last = finalResponse(event) ?? last;
  }
  if (last === null) throw broken();
  return last;
}

/**
 * Yields the events of a stream up to its `[DONE]`.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} body
 * @param {typeof import('./vendor/eventsource-parser/stream.js')} parser
 * @returns {AsyncGenerator<ResponseEvent>}
 */
async function* readEvents(body, { EventSourceParserStream }) {
  const messages = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: MAX_EVENT_CHARACTERS }))
    .getReader();
  // Some browsers cannot iterate over a stream.
  for (;;) {
    const { done, value } = await messages.read().catch((/** @type {unknown} */ error) => {
      throw isAbort(error) ? error : broken();
    });
    if (done || value.data === '[DONE]') return;
    yield /** @type {ResponseEvent} */ (JSON.parse(value.data));
  }
}
