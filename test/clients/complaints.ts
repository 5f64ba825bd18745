/** What the strictest chat completions backends refuse, put together: what passes here passes everywhere. */

export interface ChatCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface ChatMessage {
  readonly role: string;
  readonly content: string | readonly Fields[] | null;
  readonly tool_calls?: readonly ChatCall[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
}

/** A request that has no complaint; the scripts of the tests read it. */
export interface ChatBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly description?: string } }[];
  readonly response_format?: Fields;
  readonly reasoning_effort?: string;
}

export interface Rules {
  /** The field in which every assistant message gives its reasoning back, as DeepSeek wants it; without it, none does. */
  readonly reasoningField?: 'reasoning_content';
  /** Messages without reasoning do not have the field. */
  readonly mayLackReasoning?: boolean;
  /**
   * System messages stand anywhere, and messages of the user follow each other, as at DeepSeek. Most chat templates take one
   * system message, at the beginning only, and some raise an error where a user speaks twice.
   */
  readonly anyOrder?: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Everything in the body of a chat request that a strict backend refuses, one sentence each; empty for a good one. */
export function findComplaints(body: unknown, rules: Rules = {}): readonly string[] {
  if (!isObject(body)) return ['the body is no object'];
  return [...fieldComplaints(body), ...toolComplaints(body), ...conversationComplaints(body['messages'], rules)];
}

const REQUEST_FIELDS = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'max_tokens',
  'reasoning_effort',
  'user',
]);

function* fieldComplaints(body: Fields): Generator<string> {
  yield* unknownFields(body, REQUEST_FIELDS, 'the request');
  for (const [name, value] of Object.entries(body)) if (value === null) yield `${name} is null`;
  if (typeof body['model'] !== 'string' || body['model'] === '') yield 'model is missing';
  if ('stream_options' in body && body['stream'] !== true) yield 'stream_options without stream';
  if ('response_format' in body) yield* formatComplaints(body['response_format']);
}

function* formatComplaints(format: unknown): Generator<string> {
  if (!isObject(format)) return yield 'response_format is no object';
  if (format['type'] === 'json_object') return yield* unknownFields(format, new Set(['type']), 'response_format');
  const schema = format['json_schema'];
  if (format['type'] !== 'json_schema' || !isObject(schema)) return yield 'response_format is of no known type';
  yield* unknownFields(format, new Set(['type', 'json_schema']), 'response_format');
  yield* unknownFields(schema, new Set(['name', 'description', 'schema', 'strict']), 'json_schema');
  if (!isName(schema['name'])) yield 'json_schema has no good name';
  if (!isObject(schema['schema'])) yield 'json_schema has no schema';
}

function* toolComplaints(body: Fields): Generator<string> {
  const { tools, tool_choice: choice } = body;
  if (tools === undefined) {
    if ('tool_choice' in body) yield 'tool_choice without tools';
    if ('parallel_tool_calls' in body) yield 'parallel_tool_calls without tools';
    return;
  }
  if (!Array.isArray(tools) || tools.length === 0) return yield 'tools is no array with something in it';
  const names = new Set<unknown>();
  for (const tool of tools as unknown[]) {
    if (!isObject(tool) || tool['type'] !== 'function' || !isObject(tool['function'])) {
      yield 'a tool is no function';
      continue;
    }
    yield* unknownFields(tool, new Set(['type', 'function']), 'a tool');
    yield* functionComplaints(tool['function']);
    if (names.has(tool['function']['name'])) yield `two tools are named ${String(tool['function']['name'])}`;
    names.add(tool['function']['name']);
  }
  if (isObject(choice)) {
    const chosen = isObject(choice['function']) ? choice['function']['name'] : undefined;
    if (choice['type'] !== 'function' || !names.has(chosen)) yield 'tool_choice names no tool';
  } else if (choice !== undefined && choice !== 'auto' && choice !== 'none' && choice !== 'required') {
    yield 'tool_choice is not known';
  }
}

function* functionComplaints(tool: Fields): Generator<string> {
  yield* unknownFields(tool, new Set(['name', 'description', 'parameters', 'strict']), 'a function');
  if (!isName(tool['name'])) yield `${String(tool['name'])} is no good name of a tool`;
  if ('description' in tool && typeof tool['description'] !== 'string') yield 'a description is no string';
  if ('strict' in tool && typeof tool['strict'] !== 'boolean') yield 'strict is no boolean';
  const { parameters } = tool;
  if (parameters !== undefined && (!isObject(parameters) || parameters['type'] !== 'object')) {
    yield `the parameters of ${String(tool['name'])} are no object`;
  }
}

function* conversationComplaints(messages: unknown, rules: Rules): Generator<string> {
  if (!Array.isArray(messages) || messages.length === 0) return yield 'there are no messages';
  let awaited: unknown[] = [];
  let before: unknown;
  for (const [index, message] of (messages as unknown[]).entries()) {
    if (!isObject(message)) return yield `messages[${index}] is no object`;
    const { role } = message;
    for (const complaint of messageComplaints(message, rules)) yield `messages[${index}]: ${complaint}`;
    if (role === 'system' && index > 0 && rules.anyOrder !== true) yield `messages[${index}]: system is not first`;
    if (role === before && (role === 'assistant' || (role === 'user' && rules.anyOrder !== true))) {
      yield `messages[${index}]: the ${role} speaks twice`;
    }
    if (role === 'tool' && message['tool_call_id'] !== awaited.shift()) {
      yield `messages[${index}]: is not the output of the next call`;
    }
    if (role !== 'tool' && awaited.length > 0) yield `messages[${index}]: ${awaited.length} calls are not answered`;
    if (role !== 'tool') awaited = callsOf(message).map((call) => (isObject(call) ? call['id'] : undefined));
    before = role;
  }
  if (awaited.length > 0) yield `the last ${awaited.length} calls are not answered`;
}

const MESSAGE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls'],
  tool: ['role', 'content', 'tool_call_id'],
};

function* messageComplaints(message: Fields, { reasoningField, mayLackReasoning = false }: Rules): Generator<string> {
  const { role, content } = message;
  const fields = typeof role === 'string' ? MESSAGE_FIELDS[role] : undefined;
  if (fields === undefined) return yield `the role ${String(role)} is not known`;
  const allowed = role === 'assistant' && reasoningField !== undefined ? [...fields, reasoningField] : fields;
  yield* unknownFields(message, new Set(allowed), `the ${String(role)} message`);
  const optional = new Set(['tool_calls', ...(mayLackReasoning ? [reasoningField] : [])]);
  for (const field of allowed) {
    if (!optional.has(field) && !(field in message)) yield `the ${String(role)} message has no ${field}`;
  }

  if (content === null || content === '') {
    // An empty output is what a silent tool says.
    const mayBeEmpty = callsOf(message).length > 0 || (role === 'tool' && content === '');
    if (!mayBeEmpty) yield `the ${String(role)} message says nothing`;
  } else if (Array.isArray(content)) {
    if (content.length === 0) yield 'content is an empty array';
    if (role !== 'user') yield `the ${String(role)} message has parts`;
    for (const part of content as unknown[]) yield* partComplaints(part);
  } else if (typeof content !== 'string') {
    yield 'content is neither a string nor parts';
  }
  if (role === 'assistant' && 'tool_calls' in message) yield* callComplaints(message['tool_calls']);
}

/** The fields inside the field that is named like the type of the part. */
const PART_FIELDS: Readonly<Record<string, readonly string[]>> = {
  image_url: ['url', 'detail'],
  file: ['filename', 'file_data'],
  input_audio: ['data', 'format'],
};

function* partComplaints(part: unknown): Generator<string> {
  if (!isObject(part) || typeof part['type'] !== 'string') return yield 'a part has no type';
  const { type } = part;
  yield* unknownFields(part, new Set(['type', type]), `the ${type} part`);
  const said = part[type];
  if (type === 'text') {
    if (typeof said !== 'string' || said === '') yield 'a text part is empty';
    return;
  }
  const fields = PART_FIELDS[type];
  if (fields === undefined || !isObject(said)) return yield `a part of type ${type} is not known`;
  yield* unknownFields(said, new Set(fields), `the ${type} part`);
  if (type === 'image_url' && !/^(?:data:image\/|https:\/\/)/.test(String(said['url']))) yield 'an image has no URL';
  if ('detail' in said && !['low', 'high', 'auto'].includes(String(said['detail']))) yield 'the detail is not known';
}

function* callComplaints(calls: unknown): Generator<string> {
  if (!Array.isArray(calls) || calls.length === 0) return yield 'tool_calls is no array with something in it';
  const ids = new Set<unknown>();
  for (const call of calls as unknown[]) {
    if (!isObject(call) || call['type'] !== 'function' || !isObject(call['function'])) {
      yield 'a call is no function';
      continue;
    }
    const { id, function: called } = call;
    yield* unknownFields(call, new Set(['id', 'type', 'function']), 'a call');
    yield* unknownFields(called, new Set(['name', 'arguments']), 'a called function');
    if (typeof id !== 'string' || id === '' || ids.has(id)) yield `the call id ${String(id)} is missing or used twice`;
    ids.add(id);
    if (!isName(called['name'])) yield `${String(called['name'])} is no good name of a called function`;
    if (!isJsonObject(called['arguments'])) yield 'the arguments of a call are no JSON object';
  }
}

function* unknownFields(object: Fields, known: ReadonlySet<string>, where: string): Generator<string> {
  for (const name of Object.keys(object)) if (!known.has(name)) yield `${where} has the unknown field ${name}`;
}

function callsOf(message: Fields): readonly unknown[] {
  return Array.isArray(message['tool_calls']) ? (message['tool_calls'] as unknown[]) : [];
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(name);
}

function isJsonObject(text: unknown): boolean {
  try {
    return isObject(JSON.parse(String(text)));
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
