/** Answers of real chat backends, byte for byte, and what they say: read here apart from the gateway's own readers, which they check. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Usage } from '../../src/contract/types.ts';

const RECORDINGS = join(import.meta.dirname, '../../../shared/recordings');

export interface Recording {
  readonly name: string;
  readonly provider: string;
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** The tools of the request that led to it, as a Responses request has them. */
  readonly tools: readonly object[];
  /** The request that led to it, where it was recorded whole. */
  readonly chat: Json | undefined;
}

/** What an answer says, in one piece. */
export interface RecordedAnswer {
  text: string;
  refusal: string;
  reasoning: string;
  readonly calls: SaidCall[];
  usage: Usage | null;
  finishReason: string | undefined;
  done: boolean;
  /** An error object came in place of an answer, or after the beginning of one. */
  error: boolean;
  /** What the next request has to give back on the same message; what is attached to calls is theirs. */
  readonly attached: Attached;
}

/** Thoughts as parts of the content are told as `thinking`, in one piece. */
export interface Attached {
  reasoning_content?: string;
  reasoning?: string;
  thinking?: string;
  extra_content?: Json;
  reasoning_details?: Json[];
  thinking_blocks?: Json[];
}

export interface SaidCall {
  readonly key: unknown;
  id: string;
  name: string;
  arguments: string;
  extra_content?: Json;
}

type Json = Readonly<Record<string, unknown>>;

/** The recordings beside the repository; none where that folder is absent. */
export function loadRecordings(): Recording[] {
  if (!existsSync(RECORDINGS)) return [];
  return readdirSync(RECORDINGS)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const { provider, status, body, stream, request } = JSON.parse(readFileSync(join(RECORDINGS, file), 'utf8'));
      return {
        name: file.replace(/\.json$/, ''),
        provider,
        status,
        contentType: stream && status === 200 ? 'text/event-stream' : 'application/json',
        body: Buffer.from(body),
        tools: list(request?.tools).flatMap(({ function: called }) =>
          called ? [{ type: 'function', ...object(called) }] : [],
        ),
        chat: JSON.stringify(request ?? null).includes('characters left out') ? undefined : request,
      };
    });
}

/** Reads a body, whether it is a stream or JSON. */
export function readRecordedAnswer(body: Buffer): RecordedAnswer {
  const said: RecordedAnswer = {
    text: '',
    refusal: '',
    reasoning: '',
    calls: [],
    usage: null,
    finishReason: undefined,
    done: false,
    error: false,
    attached: {},
  };
  const text = body.toString();
  if (text.trimStart().startsWith('{')) {
    said.done = true;
    hear(said, JSON.parse(text));
  } else {
    const lines = text.split(/\r\n|\r|\n/).filter((line) => line.startsWith('data:'));
    for (const line of lines.map((line) => line.slice('data:'.length).trim())) {
      if (line === '[DONE]') said.done = true;
      else hear(said, parse(line));
    }
  }
  for (const call of said.calls) call.arguments ||= '{}';
  return said;
}

function hear(said: RecordedAnswer, chunk: Json): void {
  if (chunk['error']) said.error = true;
  const choice = list(chunk['choices']).find(({ index }, position) => (index ?? position) === 0) ?? {};
  const usage = [chunk['usage'], choice['usage'], object(chunk['x_groq'])['usage']].find(Boolean);
  if (usage) said.usage = toUsage(object(usage));
  if (choice['finish_reason']) said.finishReason = string(choice['finish_reason']);
  const delta = object(choice[chunk['object'] === 'chat.completion' ? 'message' : 'delta'] ?? choice['message']);
  said.refusal += string(delta['refusal']);
  said.reasoning +=
    string(delta['reasoning_content']) ||
    string(delta['reasoning']) ||
    list(delta['reasoning_details'])
      .map((detail) => string(detail['text']) || string(detail['summary']))
      .join('');
  hearAttached(said.attached, delta);
  said.text += string(delta['content']);
  for (const part of list(delta['content'])) {
    said.text += string(part['text']);
    for (const thought of list(part['thinking'])) said.reasoning += string(thought['text']);
  }
  for (const [position, piece] of list(delta['tool_calls']).entries()) {
    hearCall(said.calls, piece['index'] ?? position, string(piece['id']), object(piece['function']));
    const call = said.calls.at(-1);
    if (call && piece['extra_content']) call.extra_content = object(piece['extra_content']);
  }
  if (delta['function_call']) hearCall(said.calls, 'legacy', '', object(delta['function_call']));
}

function hearAttached(attached: Attached, delta: Json): void {
  for (const name of ['reasoning_content', 'reasoning'] as const) {
    if (string(delta[name])) attached[name] = `${attached[name] ?? ''}${string(delta[name])}`;
  }
  for (const { thinking } of list(delta['content'])) {
    for (const thought of list(thinking)) attached.thinking = `${attached.thinking ?? ''}${string(thought['text'])}`;
  }
  if (delta['extra_content']) attached.extra_content = { ...attached.extra_content, ...object(delta['extra_content']) };
  for (const name of ['reasoning_details', 'thinking_blocks'] as const) {
    for (const piece of list(delta[name])) {
      const others = (attached[name] ??= []);
      const same = others.findIndex(
        ({ type, index, data }) => data === undefined && type === piece['type'] && index === piece['index'],
      );
      if (same < 0 || piece['data'] !== undefined) others.push(piece);
      else others[same] = { ...others[same], ...piece, ...textsOf(others[same] ?? {}, piece) };
    }
  }
}

/** What a stream has cut. */
function textsOf(before: Json, piece: Json): Json {
  const names = ['text', 'summary', 'thinking'].filter((name) => string(before[name]) + string(piece[name]) !== '');
  return Object.fromEntries(names.map((name) => [name, string(before[name]) + string(piece[name])]));
}

function hearCall(calls: SaidCall[], key: unknown, id: string, called: Json): void {
  if (id + string(called['name']) + string(called['arguments']) === '') return;
  let call = calls.findLast((call) => call.key === key);
  const another = id !== '' && call?.id !== '' && call?.id !== id && string(called['name']) !== '';
  if (call === undefined || another) {
    call = { key, id, name: '', arguments: '' };
    calls.push(call);
  }
  call.id ||= id;
  call.name ||= string(called['name']);
  call.arguments += string(called['arguments']);
}

function toUsage(usage: Json): Usage {
  const cached =
    object(usage['prompt_tokens_details'])['cached_tokens'] ??
    usage['prompt_cache_hit_tokens'] ??
    usage['cached_tokens'];
  const reasoning = object(usage['completion_tokens_details'])['reasoning_tokens'] ?? usage['reasoning_tokens'];
  // Of a total, what is not input is output, whether or not the backend counts its reasoning in the completion (xAI).
  const beyondInput = Number(usage['total_tokens']) - Number(usage['prompt_tokens']);
  return {
    input_tokens: Number(usage['prompt_tokens']),
    input_tokens_details: {
      // Azure's gateway to other models has reported more cached tokens than input.
      cached_tokens: Math.min(Number(cached ?? 0), Number(usage['prompt_tokens'])),
      cache_write_tokens: Number(object(usage['prompt_tokens_details'])['cache_write_tokens'] ?? 0),
    },
    output_tokens: beyondInput,
    output_tokens_details: {
      reasoning_tokens: Math.max(Number(reasoning ?? 0), beyondInput - Number(usage['completion_tokens'])),
    },
    total_tokens: Number(usage['total_tokens']),
  };
}

/** The rest of an event that was cut says nothing. */
function parse(text: string): Json {
  try {
    return object(JSON.parse(text));
  } catch {
    return {};
  }
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(object) : [];
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
