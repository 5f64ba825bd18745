/**
 * A chat completions backend that is as strict as the strictest, and whose model follows a script. It answers in awkward
 * pieces, and keeps every complaint that it has about a request.
 *
 *     const backend = await startStrictBackend();
 *     backend.plays({ calls: [{ name: 'weather', arguments: { city: 'Bonn' } }] }, { text: 'Sunny.' });
 *     …
 *     await backend.close();      // throws for complaints, and for answers that nobody asked for
 */

import { AssertionError } from 'chai';
import { startScriptedBackend, type ReceivedRequest, type Stage } from '../support/backend.ts';
import { findComplaints, type ChatBody, type Rules } from './complaints.ts';

export const API_KEY = 'sk-test-client';

export type Answer =
  | {
      readonly reasoning?: string;
      readonly text?: string;
      readonly calls?: readonly ModelCall[];
      /** How long it is silent at the beginning of a stream. */
      readonly pauseMs?: number;
      readonly finish?: 'length' | 'content_filter';
      /** After all that was said: the connection breaks, or nothing more comes until the client goes away. */
      readonly ending?: 'cut' | 'silence';
    }
  | { readonly status: number; readonly error: object; readonly headers?: Readonly<Record<string, string>> };

export interface ModelCall {
  /** A part of the name is enough, as long as one tool alone has it: the model reads the names that it was offered. */
  readonly name: string;
  readonly arguments: object;
}

/** One answer of the model; what it depends on is in the request. */
export type Line = Answer | ((body: ChatBody) => Answer);

export interface StrictBackend {
  readonly baseUrl: string;
  /** The bodies of the chat requests so far. */
  readonly bodies: readonly ChatBody[];
  readonly requests: readonly ReceivedRequest[];
  /** Queues the answers, one for each of the next requests. */
  plays(...lines: readonly Line[]): void;
  /** Resolves with the request of this number, counted from 1. */
  request(count: number): Promise<ReceivedRequest>;
  /** Ends it. Throws what it complained of, if anything. */
  close(): Promise<void>;
}

const COMPLAINT = { message: 'no, see the complaints', type: 'invalid_request_error', param: null, code: null };

/** Starts it on a free port. */
export async function startStrictBackend(rules: Rules = {}): Promise<StrictBackend> {
  const script: Line[] = [];
  const complaints: string[] = [];
  const chats: ReceivedRequest[] = [];
  const awaited: { count: number; resolve: (request: ReceivedRequest) => void }[] = [];
  const server = await startScriptedBackend();

  server.always(async (stage) => {
    const { path, headers, body } = stage.request;
    if (headers.authorization !== `Bearer ${API_KEY}`) return sendError(stage, 401, { message: 'Who are you?' });
    if (path === '/v1/models')
      return sendJson(stage, { object: 'list', data: [{ id: 'test-model', object: 'model' }] });
    if (path !== '/v1/chat/completions') return sendError(stage, 404, { message: `There is no ${path}.` });

    chats.push(stage.request);
    for (const { count, resolve } of awaited) if (count === chats.length) resolve(stage.request);
    const found = findComplaints(body, rules);
    complaints.push(...found.map((complaint) => `request ${chats.length}: ${complaint}`));
    const line = script.shift();
    if (line === undefined) complaints.push(`request ${chats.length}: the script is over`);
    if (line === undefined || found.length > 0) return sendError(stage, 400, COMPLAINT);
    const chat = body as ChatBody;
    await play(stage, chat, typeof line === 'function' ? line(chat) : line);
  });

  return {
    baseUrl: server.baseUrl,
    requests: chats,
    get bodies() {
      return chats.map(({ body }) => body as ChatBody);
    },
    plays: (...lines) => void script.push(...lines),
    request(count) {
      const request = chats[count - 1];
      if (request !== undefined) return Promise.resolve(request);
      return new Promise((resolve) => awaited.push({ count, resolve }));
    },
    async close() {
      await server.close();
      if (script.length > 0) complaints.push(`${script.length} answers were not asked for`);
      if (complaints.length > 0) throw new AssertionError(`the backend complains:\n${complaints.join('\n')}`);
    },
  };
}

async function play(stage: Stage, chat: ChatBody, answer: Answer): Promise<void> {
  if ('status' in answer) return sendError(stage, answer.status, answer.error, answer.headers);
  const calls = (answer.calls ?? []).map((call, index) => ({
    id: `call_${chat.messages.length}_${index}`,
    type: 'function',
    function: { name: offeredName(chat, call.name), arguments: JSON.stringify(call.arguments) },
  }));
  const finish = answer.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  if (chat.stream !== true) {
    const message = {
      role: 'assistant',
      content: answer.text ?? null,
      ...(answer.reasoning !== undefined && { reasoning_content: answer.reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const completion = { ...HEAD, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }] };
    if (answer.ending !== undefined) return leave(stage, answer.ending);
    return sendJson(stage, { ...completion, usage: USAGE });
  }

  const deltas: object[] = [
    ...pieces(answer.reasoning ?? '').map((piece) => ({ reasoning_content: piece })),
    ...pieces(answer.text ?? '').map((piece) => ({ content: piece })),
    ...calls.flatMap(({ id, type, function: { name, arguments: text } }, index) => [
      { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] },
      ...pieces(text).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ];
  stage.start();
  await drip(stage, [toChunk({ role: 'assistant', content: '' }, null)]);
  await stage.wait(answer.pauseMs ?? 0);
  await drip(
    stage,
    deltas.map((delta) => toChunk(delta, null)),
  );
  if (answer.ending !== undefined) return leave(stage, answer.ending);
  await drip(stage, [toChunk({}, finish), { ...HEAD, object: 'chat.completion.chunk', choices: [], usage: USAGE }]);
  await stage.sse('[DONE]');
  stage.end();
}

const HEAD = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'the-model' };
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function toChunk(delta: object, finish: string | null): object {
  return { ...HEAD, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] };
}

/** Cut after any code unit, also between the halves of a surrogate pair and inside of an escape, as some backends do. */
function pieces(text: string): string[] {
  const cut: string[] = [];
  for (let at = 0; at < text.length;) {
    const length = 1 + (cut.length % 7) * 3;
    cut.push(text.slice(at, at + length));
    at += length;
  }
  return cut;
}

/** A prime number of bytes each, so that lines, events and characters are cut everywhere. */
async function drip(stage: Stage, chunks: readonly object[]): Promise<void> {
  const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  await stage.drip(text, { pieceBytes: 499, everyMs: 1 });
}

async function leave(stage: Stage, how: 'cut' | 'silence'): Promise<void> {
  if (how === 'cut') return stage.cut();
  await stage.hang();
}

/** Throws when the request offers no such tool, or several. */
function offeredName({ tools = [] }: ChatBody, part: string): string {
  const names = tools.map((tool) => tool.function.name);
  const found = names.includes(part) ? [part] : names.filter((name) => name.includes(part));
  if (found.length !== 1) throw new Error(`${found.length} tools are named like ${part}; offered: ${names.join(', ')}`);
  return found[0] ?? '';
}

async function sendJson(stage: Stage, body: object): Promise<void> {
  stage.start(200, { 'content-type': 'application/json' });
  await stage.write(JSON.stringify(body));
  stage.end();
}

async function sendError(
  stage: Stage,
  status: number,
  error: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  stage.start(status, { 'content-type': 'application/json', ...headers });
  await stage.write(JSON.stringify({ error }));
  stage.end();
}
