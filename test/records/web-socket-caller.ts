/**
 * A caller whose requests for responses go over WebSockets, one each, and who tells of the frames what HTTP would have said:
 * so the tests of the records hold for both transports.
 */

import type { ResponseEvent, WebSocketError } from '../../src/contract/types.ts';
import type { WebSocketDuplicate } from '../../src/contract/record-types.ts';
import { TEST_KEY } from '../support/gateway.ts';
import { isTerminal, speakTo, type ConnectionContext } from '../support/web-socket.ts';
import { callerOf, type Caller } from './caller.ts';

/** How a response is asked for, and who asks for it. A compaction is asked for in the same words, and is answered in JSON. */
export const KINDS = ['json', 'stream', 'web socket', 'compaction'] as const;
export type Kind = (typeof KINDS)[number];

export function isJson(kind: Kind): boolean {
  return kind === 'json' || kind === 'compaction';
}

export function callerBy(kind: Kind, url: string, apiKey: string = TEST_KEY): Caller {
  const caller = callerOf(url, apiKey);
  if (kind === 'compaction') return { ...caller, create: caller.compact };
  return kind === 'web socket' ? { ...caller, create: createOverWebSocket(url, apiKey) } : caller;
}

function createOverWebSocket(url: string, apiKey: string): Caller['create'] {
  return async (request, { headers = {}, signal } = {}) => {
    const speaker = await connected(speakTo(url, { apiKey }));
    const abort = (): void => speaker.ws.terminate();
    signal?.addEventListener('abort', abort);
    speaker.send(typeof request === 'string' ? asFrame(request) : toFrame(request, headers));
    const first = await connected(speaker.next());
    if ('status' in first) {
      speaker.close();
      return toReply(first);
    }
    const requestId = 'response' in first ? first.response.id.replace('resp_', 'req_') : '';
    return new Response(streamOf(first, speaker), {
      headers: { 'content-type': 'text/event-stream', 'x-request-id': requestId },
    });
  };
}

function toFrame(request: object, headers: Readonly<Record<string, string>>): object {
  const key = headers['idempotency-key'];
  const { stream: _stream, ...fields } = request as { stream?: boolean };
  return { type: 'response.create', ...fields, ...(key !== undefined && { idempotency_key: key }) };
}

/** A text may be no JSON at all. */
function asFrame(text: string): string {
  return text.replace(/^\{/, '{"type": "response.create", ');
}

/** As `fetch` tells that a connection broke. */
async function connected<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw new TypeError('the connection broke', { cause: error });
  }
}

function toReply({ status, headers, request, ...frame }: WebSocketError | WebSocketDuplicate): Response {
  const { error: _own, ...record } = request ?? { error: null };
  return new Response(JSON.stringify({ ...record, ...('error' in frame && { error: frame.error }) }), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });
}

function streamOf(first: ResponseEvent, speaker: ConnectionContext): ReadableStream<Uint8Array> {
  let next: ResponseEvent | undefined = first;
  return new ReadableStream({
    async pull(controller) {
      const event = next ?? ((await connected(speaker.next())) as ResponseEvent);
      next = undefined;
      const end = isTerminal(event) ? 'data: [DONE]\n\n' : '';
      controller.enqueue(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n${end}`));
      if (!isTerminal(event)) return;
      controller.close();
      speaker.close();
    },
  });
}
