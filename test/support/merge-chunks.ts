/** The chunks of a stream as the one completion that says the same. It is written apart from the translator, which it serves to check. */

import type { ChatChunk } from '../../src/core/chat.ts';
import type { Answer } from './machine.ts';

interface MergedCall {
  readonly index: unknown;
  readonly id: unknown;
  name: string | undefined;
  arguments: string;
  extra: unknown;
}

type Fields = Record<string, unknown>;

/** The order in which a completion's fields are read; a stream in any other order is not the same answer. */
const ORDER = ['reasoning', 'content', 'refusal', 'calls'] as const;

const TOP_FIELDS = ['usage', 'x_groq', 'citations', 'search_results', 'service_tier'];
const REASONING_FIELDS = ['reasoning_content', 'reasoning'];

/**
 * Takes the chunks of a stream. Returns undefined where no completion says the same: the stream was cut, the order of text
 * and calls would be lost, or it takes a guess to tell which call a piece belongs to.
 */
export function mergeChunks({ chunks, done }: Answer): ChatChunk | undefined {
  const top: Record<string, unknown> = { object: 'chat.completion' };
  const message: Record<string, unknown> = { role: 'assistant', content: null };
  const choice: Record<string, unknown> = { index: 0, finish_reason: null, message };
  const calls: MergedCall[] = [];
  let reached = 0;
  let mergeable = false;

  for (const chunk of chunks) {
    for (const name of TOP_FIELDS) if (chunk[name] !== undefined && chunk[name] !== null) top[name] = chunk[name];
    const part = choiceZero(chunk);
    if (part === undefined) continue;
    mergeable = true;
    if (part['finish_reason']) choice['finish_reason'] = part['finish_reason'];
    if (part['usage']) choice['usage'] = part['usage'];
    mergeLogprobs(part['logprobs']);
    const delta = (part['delta'] ?? part['message'] ?? {}) as Record<string, unknown>;
    for (const kind of kindsIn(delta)) {
      if (ORDER.indexOf(kind) < reached) return undefined;
      reached = ORDER.indexOf(kind);
    }
    // In a completion what is attached is known before the first word is read.
    if (attaches(delta) && reached > 0 && REASONING_FIELDS.some((name) => message[name])) return undefined;
    mergeMessage(delta);
    for (const piece of (delta['tool_calls'] ?? []) as Record<string, unknown>[])
      if (!mergeCall(piece)) return undefined;
  }
  if (!mergeable || (choice['finish_reason'] === null && !done)) return undefined;
  if (calls.length > 0) message['tool_calls'] = calls.map(toToolCall);
  return { ...top, choices: [choice] };

  function mergeMessage(delta: Record<string, unknown>): void {
    for (const name of [...REASONING_FIELDS, 'refusal']) append(message, name, delta[name]);
    if (Array.isArray(delta['annotations']))
      message['annotations'] = [
        ...((message['annotations'] ?? []) as unknown[]),
        ...(delta['annotations'] as unknown[]),
      ];
    for (const name of ['reasoning_details', 'thinking_blocks']) {
      for (const piece of (delta[name] ?? []) as Fields[]) mergePiece((message[name] ??= []) as Fields[], piece);
    }
    if (delta['extra_content'] !== undefined)
      message['extra_content'] = mergeExtra(message['extra_content'], delta['extra_content']);
    mergeContent(delta['content']);
    if (typeof delta['function_call'] === 'object' && delta['function_call'] !== null) {
      const legacy = (message['function_call'] ??= { arguments: '' }) as Record<string, unknown>;
      const { name, arguments: more } = delta['function_call'] as Record<string, unknown>;
      if (name !== undefined) legacy['name'] = name;
      append(legacy, 'arguments', more);
    }
  }

  /** Text stays text; once there is an array, everything goes into it, which keeps the order of thoughts and text. */
  function mergeContent(content: unknown): void {
    if (Array.isArray(content)) {
      const before = message['content'];
      const parts = Array.isArray(before) ? before : before === null ? [] : [{ type: 'text', text: before }];
      message['content'] = [...(parts as unknown[]), ...(content as unknown[])];
    } else if (Array.isArray(message['content']) && typeof content === 'string') {
      message['content'] = [...(message['content'] as unknown[]), { type: 'text', text: content }];
    } else {
      append(message, 'content', content);
    }
  }

  function mergeLogprobs(logprobs: unknown): void {
    const content = (logprobs as { content?: unknown } | undefined | null)?.content;
    if (!Array.isArray(content)) return;
    const before = (choice['logprobs'] as { content: unknown[] } | undefined)?.content ?? [];
    choice['logprobs'] = { content: [...before, ...(content as unknown[])] };
  }

  /** Says whether it was plain which call the piece belongs to. */
  function mergeCall(piece: Record<string, unknown>): boolean {
    const called = (piece['function'] ?? {}) as { name?: string; arguments?: unknown };
    const given = called.arguments ?? '';
    const more = typeof given === 'string' ? given : JSON.stringify(given);
    const known = findKnown(piece, called.name);
    if (known === undefined) {
      calls.push({
        index: piece['index'],
        id: piece['id'],
        name: called.name,
        arguments: more,
        extra: piece['extra_content'],
      });
      return true;
    }
    if (called.name && known.name && (called.name !== known.name || isJson(known.arguments))) return false;
    // The call was told as done when another began, and no completion has its pieces in that order.
    if (more !== '' && isJson(known.arguments)) return false;
    known.name ??= called.name;
    known.arguments += more;
    if (piece['extra_content'] !== undefined) known.extra = mergeExtra(known.extra, piece['extra_content']);
    return true;
  }

  function findKnown(piece: Record<string, unknown>, name: string | undefined): MergedCall | undefined {
    if (piece['index'] !== undefined) return calls.find((call) => call.index === piece['index']);
    if (name) return undefined;
    return calls.find((call) => piece['id'] && call.id === piece['id']) ?? calls.at(-1);
  }
}

function choiceZero(chunk: ChatChunk): Record<string, unknown> | undefined {
  const choices = (chunk['choices'] ?? []) as Record<string, unknown>[];
  return choices.find((choice, position) => (choice['index'] ?? position) === 0);
}

function kindsIn(delta: Record<string, unknown>): (typeof ORDER)[number][] {
  return [
    ...([...REASONING_FIELDS, 'reasoning_details'].some((name) => hasText(delta[name]))
      ? (['reasoning'] as const)
      : []),
    ...(hasText(delta['content']) ? (['content'] as const) : []),
    ...(hasText(delta['refusal']) ? (['refusal'] as const) : []),
    ...(hasText(delta['tool_calls']) || delta['function_call'] ? (['calls'] as const) : []),
  ];
}

function attaches(delta: Fields): boolean {
  return (
    hasText(delta['reasoning_details']) || hasText(delta['thinking_blocks']) || delta['extra_content'] !== undefined
  );
}

function hasText(value: unknown): boolean {
  return (typeof value === 'string' || Array.isArray(value)) && value.length > 0;
}

function append(target: Record<string, unknown>, name: string, more: unknown): void {
  if (typeof more === 'string') target[name] = `${(target[name] ?? '') as string}${more}`;
}

function toToolCall(call: MergedCall): object {
  return {
    ...(call.id !== undefined && { id: call.id }),
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
    ...(call.extra !== undefined && { extra_content: call.extra }),
  };
}

/** One thought is one entry, with the signature that ends it. */
function mergePiece(list: Fields[], piece: Fields): void {
  const last = list.at(-1);
  if (!last || last['signature'] || last['data'] || piece['data'] || last['type'] !== piece['type']) {
    list.push({ ...piece });
    return;
  }
  for (const name of ['text', 'summary', 'thinking']) append(last, name, piece[name]);
  if (piece['signature']) last['signature'] = piece['signature'];
}

function mergeExtra(before: unknown, more: unknown): Fields {
  const merged: Fields = { ...(before as Fields | undefined) };
  for (const [provider, fields] of Object.entries(more as Record<string, Fields>))
    merged[provider] = { ...(merged[provider] as Fields | undefined), ...fields };
  return merged;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
