import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChatChunk } from '../../core/chat.ts';
import { isObject } from '../../core/json.ts';
import { composeDemoReply, type DemoReply } from './reply.ts';

export interface DemoBackend {
  readonly baseUrl: string;
  close(): Promise<void>;
}

const MODEL = 'demo';
const PIECE_DELAY_MS = 8;
/** Long enough to be cancelled by hand. */
const SLOW_MS = 20_000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;

type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

const waitFor: Wait = (ms, signal) => delay(ms, undefined, { signal });

/** Starts a backend without a model on a free port of 127.0.0.1. */
export async function startDemoBackend(wait: Wait = waitFor): Promise<DemoBackend> {
  // What is loaded here is 14 MB that a gateway with a backend does not need.
  const { createServer } = await import('node:http');
  const server = createServer((req, res) => {
    // This happens only if the client has disconnected.
    answer(req, res, wait).catch(() => res.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the demo backend has no port');
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(req: IncomingMessage, res: ServerResponse, wait: Wait): Promise<void> {
  const path = req.url?.split('?', 1)[0] ?? '';
  const model = /^\/v1\/models\/(.+)$/.exec(path)?.[1];
  if (req.method === 'GET' && path === '/v1/models') sendJson(res, 200, { object: 'list', data: [toModel(MODEL)] });
  else if (req.method === 'GET' && model !== undefined) sendJson(res, 200, toModel(model));
  else if (req.method === 'POST' && path === '/v1/chat/completions') await complete(req, res, wait);
  else sendError(res, 404, 'The demo backend has no such path.');
}

async function complete(req: IncomingMessage, res: ServerResponse, wait: Wait): Promise<void> {
  const request = await readJson(req);
  if (!isObject(request)) return sendError(res, 400, 'The body is not a JSON object.');
  if (!Array.isArray(request['messages']) || request['messages'].length === 0) {
    return sendError(res, 400, 'messages is missing or empty.');
  }
  const reply = composeDemoReply(request);
  const frame: ChatChunk = {
    id: `chatcmpl-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model: typeof request['model'] === 'string' ? request['model'] : MODEL,
  };
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  const { signal } = gone;
  if (request['stream'] === true) return sendStream(res, { frame, reply, request, wait, signal });
  if (reply.isSlow) await wait(SLOW_MS, signal);
  sendJson(res, 200, toCompletion(frame, reply));
}

function toCompletion(frame: ChatChunk, reply: DemoReply): ChatChunk {
  const { call } = reply;
  const message =
    call === undefined
      ? { role: 'assistant', content: reply.text.join('') }
      : { role: 'assistant', content: null, tool_calls: [{ id: newCallId(), type: 'function', function: call }] };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: reply.finishReason }];
  return { ...frame, object: 'chat.completion', choices, usage: toUsage(reply) };
}

interface DemoStream {
  readonly frame: ChatChunk;
  readonly reply: DemoReply;
  readonly request: ChatChunk;
  readonly wait: Wait;
  readonly signal: AbortSignal;
}

async function sendStream(res: ServerResponse, { frame, reply, request, wait, signal }: DemoStream): Promise<void> {
  const deltas = toDeltas(reply);
  const pieceMs = reply.isSlow ? SLOW_MS / deltas.length : PIECE_DELAY_MS;
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const send = async (data: ChatChunk): Promise<void> => {
    if (!res.write(`data: ${JSON.stringify({ ...frame, object: 'chat.completion.chunk', ...data })}\n\n`)) {
      await once(res, 'drain', { signal });
    }
    await wait(pieceMs, signal);
  };
  for (const delta of deltas) await send({ choices: [{ index: 0, delta, finish_reason: null }] });
  await send({ choices: [{ index: 0, delta: {}, finish_reason: reply.finishReason }] });
  const options = request['stream_options'];
  if (isObject(options) && options['include_usage'] === true) await send({ choices: [], usage: toUsage(reply) });
  res.end('data: [DONE]\n\n');
}

function toDeltas({ text, call }: DemoReply): ChatChunk[] {
  const start = { role: 'assistant', content: call === undefined ? '' : null };
  if (call === undefined) return [start, ...text.map((content) => ({ content }))];
  const opening = { index: 0, id: newCallId(), type: 'function', function: { name: call.name, arguments: '' } };
  // By characters, so that no piece ends inside of one.
  const rest = (call.arguments.match(/.{1,6}/gsu) ?? []).map((piece) => ({ index: 0, function: { arguments: piece } }));
  return [start, { tool_calls: [opening] }, ...rest.map((piece) => ({ tool_calls: [piece] }))];
}

function toUsage({ promptTokens, completionTokens }: DemoReply): ChatChunk {
  const total = promptTokens + completionTokens;
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: total };
}

function toModel(id: string): ChatChunk {
  return { id, object: 'model', created: 0, owned_by: 'demo' };
}

function newCallId(): string {
  return `call_${randomUUID().replaceAll('-', '')}`;
}

async function readJson(req: IncomingMessage): Promise<unknown> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const piece of req) {
    if (!(piece instanceof Uint8Array)) return undefined;
    read.push(piece);
    length += piece.length;
    if (length > MAX_BODY_BYTES) return undefined;
  }
  try {
    return JSON.parse(Buffer.concat(read).toString());
  } catch {
    return undefined;
  }
}

function sendError(res: ServerResponse, status: number, message: string): void {
  sendJson(res, status, { error: { message, type: 'invalid_request_error', param: null, code: null } });
}

function sendJson(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
