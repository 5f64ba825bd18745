import type { ChatChunk } from '../../core/chat.ts';
import { isObject } from '../../core/json.ts';

export interface DemoReply {
  readonly text: readonly string[];
  readonly call?: { readonly name: string; readonly arguments: string };
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The user asks for an answer that lasts. */
  readonly isSlow: boolean;
}

const MAX_ECHO_CHARACTERS = 200;
const MAX_SCHEMA_DEPTH = 8;
const SAMPLES: readonly (readonly [RegExp, string])[] = [
  [/city|location|place|town/i, 'Paris'],
  [/country/i, 'France'],
  [/unit/i, 'celsius'],
  [/date|day/i, '2026-01-01'],
  [/time/i, '12:00'],
  [/mail/i, 'someone@example.com'],
  [/ur[li]|link/i, 'https://example.com'],
  [/path|file/i, 'README.md'],
  [/name/i, 'Demo'],
];

/** Composes the answer to a chat request that has messages. Never throws. */
export function composeDemoReply(request: ChatChunk): DemoReply {
  const messages = objectsOf(request['messages']);
  const prompt = lastText(messages, 'user');
  const promptTokens = Math.ceil(JSON.stringify(messages).length / 4);
  const isSlow = /\bslow/i.test(prompt);
  const tool = toolToCall(request, messages, prompt);
  if (tool !== undefined) {
    const args = JSON.stringify(
      sampleOf(tool['parameters'], 'arguments', { prompt, root: tool['parameters'] }, 0) ?? {},
    );
    const call = { name: String(tool['name']), arguments: args };
    return { text: [], call, finishReason: 'tool_calls', promptTokens, completionTokens: pieces(args).length, isSlow };
  }
  const all = pieces(replyText(request, messages, prompt));
  const limit = Number(request['max_completion_tokens'] ?? request['max_tokens'] ?? Infinity);
  const text = all.length > limit ? all.slice(0, limit) : all;
  const finishReason = all.length > limit ? 'length' : 'stop';
  return { text, finishReason, promptTokens, completionTokens: text.length, isSlow };
}

function pieces(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
}

function replyText(request: ChatChunk, messages: readonly ChatChunk[], prompt: string): string {
  const format = isObject(request['response_format']) ? request['response_format'] : {};
  if (format['type'] === 'json_object') return JSON.stringify({ answer: 'This is the demo backend.' });
  const wanted = isObject(format['json_schema']) ? format['json_schema']['schema'] : undefined;
  if (format['type'] === 'json_schema')
    return JSON.stringify(sampleOf(wanted, 'answer', { prompt, root: wanted }, 0) ?? {});
  if (messages.at(-1)?.['role'] === 'tool') {
    return `The tool answered: ${shortened(textOf(messages.at(-1)?.['content']))} (said by the demo backend)`;
  }
  const echo = prompt === '' ? 'You said nothing yet.' : `You said: "${shortened(prompt)}".`;
  return `Hello from the demo backend! ${echo} There is no model behind this answer; set UPSTREAM_BASE_URL to reach one.`;
}

function toolToCall(request: ChatChunk, messages: readonly ChatChunk[], prompt: string): ChatChunk | undefined {
  const tools = objectsOf(request['tools']).flatMap((tool) => (isObject(tool['function']) ? [tool['function']] : []));
  const choice = request['tool_choice'];
  // A call after the output of a tool would make an endless loop.
  if (choice === 'none' || messages.at(-1)?.['role'] === 'tool') return undefined;
  const forced = isObject(choice) && isObject(choice['function']) ? choice['function']['name'] : undefined;
  if (forced !== undefined) return tools.find((tool) => tool['name'] === forced);
  const asked = tools.find((tool) => mentions(prompt, String(tool['name'])));
  return asked ?? (choice === 'required' ? tools[0] : undefined);
}

/** Matches the longer words of a name too: "weather" mentions `get_weather`. */
function mentions(prompt: string, name: string): boolean {
  const words = name.split(/[_-]|(?<=[a-z])(?=[A-Z])/).filter((word) => word.length >= 4);
  return [name, ...words].some((word) => prompt.toLowerCase().includes(word.toLowerCase()));
}

interface SampleContext {
  readonly prompt: string;
  readonly root: unknown;
}

function sampleOf(schema: unknown, name: string, context: SampleContext, depth: number): unknown {
  if (!isObject(schema) || depth > MAX_SCHEMA_DEPTH) return null;
  const given = [schema['const'], schema['default'], firstOf(schema['examples']), firstOf(schema['enum'])];
  const first = given.find((value) => value !== undefined);
  if (first !== undefined) return first;
  const other =
    referenced(schema, context.root) ??
    firstOf(schema['anyOf']) ??
    firstOf(schema['oneOf']) ??
    firstOf(schema['allOf']);
  if (other !== undefined) return sampleOf(other, name, context, depth + 1);
  switch (Array.isArray(schema['type']) ? schema['type'][0] : schema['type']) {
    case 'string':
      return sampleText(name, context.prompt);
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return [sampleOf(schema['items'], name, context, depth + 1)].filter((item) => item !== null);
    case 'null':
      return null;
    default:
      return sampleObject(schema, context, depth);
  }
}

function sampleObject(schema: ChatChunk, context: SampleContext, depth: number): ChatChunk {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : [];
  return Object.fromEntries(required.map((key) => [key, sampleOf(properties[key], key, context, depth + 1)]));
}

function sampleText(name: string, prompt: string): string {
  const sample = SAMPLES.find(([pattern]) => pattern.test(name))?.[1] ?? 'demo';
  return sample === 'Paris' ? (/\b(?:in|for|at) (\p{Lu}[\p{L}-]+)/u.exec(prompt)?.[1] ?? sample) : sample;
}

function referenced(schema: ChatChunk, root: unknown): unknown {
  const path = schema['$ref'];
  if (typeof path !== 'string' || !path.startsWith('#')) return undefined;
  let target = root;
  for (const key of path.split('/').slice(1)) target = isObject(target) ? target[key] : undefined;
  return target;
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

function objectsOf(value: unknown): ChatChunk[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function lastText(messages: readonly ChatChunk[], role: string): string {
  return textOf(messages.findLast((message) => message['role'] === role)?.['content']);
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsOf(content)
    .map((part) => (typeof part['text'] === 'string' ? part['text'] : ''))
    .join(' ')
    .trim();
}

function shortened(text: string): string {
  return text.length <= MAX_ECHO_CHARACTERS ? text : `${text.slice(0, MAX_ECHO_CHARACTERS).toWellFormed()}…`;
}
