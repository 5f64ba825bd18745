/** Backends of each kind in core/dialects.ts, as scripts: what they answer is made up, its form and what they refuse is not. */

import type { DialectName } from '../../src/core/dialects.ts';
import type { ReceivedRequest, Script } from './backend.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Behaviour {
  readonly headers?: Readonly<Record<string, string>>;
  /** What an entry of its list of models has besides `id` and `object`. */
  readonly model?: Json;
  readonly id?: string;
  /** Further fields of an answer, of its choice, of its usage, and of what it says. */
  readonly answer?: Json;
  readonly choice?: Json;
  readonly usage?: Json;
  readonly message?: Json;
  /** What it does with `tool_choice`; it takes a named tool where this is absent. */
  readonly toolChoice?: 'words' | 'ignored';
  /** The field of the token limit that it does not look at. */
  readonly ignoredLimit?: string;
  /** The body and status that it refuses a request with. */
  readonly refuse?: (chat: Chat) => Refusal | undefined;
}

type Refusal = readonly [status: number, body: unknown];

interface Chat extends Json {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

export const BEHAVIOURS: Readonly<Record<DialectName, Behaviour>> = {
  generic: { toolChoice: 'words', refuse: strictTemplate },
  openai: {
    headers: { 'openai-processing-ms': '211', 'openai-version': '2020-10-01' },
    model: { owned_by: 'system' },
    id: 'chatcmpl-ABfw1e5abtU8OwGr15vOreYVb2MiF',
    answer: { system_fingerprint: 'fp_5050236cbd', service_tier: 'default' },
    refuse: noMaxTokens,
  },
  azure: {
    headers: { 'openai-processing-ms': '211', 'apim-request-id': '809c1f9c', 'x-ms-region': 'Sweden Central' },
    id: 'chatcmpl-ABfw1e5abtU8OwGr15vOreYVb2MiF',
    answer: { prompt_filter_results: [] },
    choice: { content_filter_results: {} },
    toolChoice: 'words',
    refuse: noMaxTokens,
  },
  vllm: {
    model: { owned_by: 'vllm', max_model_len: 8192 },
    answer: { prompt_logprobs: null },
    choice: { stop_reason: null },
    message: { reasoning: 'Thirteen goes into it.' },
    refuse: strictTemplate,
  },
  sglang: {
    model: { owned_by: 'sglang', max_model_len: 8192 },
    choice: { matched_stop: 151_645 },
    message: { reasoning_content: 'Seventeen goes into it.' },
  },
  llamacpp: {
    model: { owned_by: 'llamacpp' },
    toolChoice: 'words',
    answer: { system_fingerprint: 'b6123-abcdef1', timings: { prompt_n: 1 } },
    refuse: (chat) =>
      strictTemplate(chat) && [
        500,
        { error: { code: 500, message: 'Conversation roles must alternate', type: 'server_error' } },
      ],
  },
  ollama: {
    model: { owned_by: 'library' },
    toolChoice: 'ignored',
    id: 'chatcmpl-373',
    answer: { system_fingerprint: 'fp_ollama' },
    ignoredLimit: 'max_completion_tokens',
  },
  lmstudio: {
    model: { owned_by: 'organization_owner' },
    toolChoice: 'words',
    refuse: ({ response_format: format, ...chat }) =>
      strictTemplate(chat) ??
      ((format as Json | undefined)?.['type'] === 'json_object'
        ? [400, { error: "'response_format.type' must be 'json_schema' or 'text'" }]
        : undefined),
  },
  deepseek: {
    model: { owned_by: 'deepseek' },
    answer: { system_fingerprint: 'fp_eaab8d114b_prod0820_fp8_kvcache' },
    usage: { prompt_cache_hit_tokens: 0, prompt_cache_miss_tokens: 9 },
    message: { reasoning_content: 'Seventeen goes into it.' },
    refuse: ({ response_format: format }) =>
      (format as Json | undefined)?.['type'] === 'json_schema'
        ? [400, { error: { message: 'This response_format type is unavailable now' } }]
        : undefined,
  },
  moonshot: { model: { owned_by: 'moonshot' }, message: { reasoning_content: 'Seventeen goes into it.' } },
  google: { model: { owned_by: 'google' } },
  mistral: {
    headers: { 'mistral-correlation-id': '0198' },
    model: { owned_by: 'mistralai' },
    id: '3a266e7631b44d6a89f65a5839a585e4',
    refuse: unknownFields,
  },
  groq: {
    headers: { 'x-groq-region': 'fra' },
    answer: { x_groq: { id: 'req_01' }, system_fingerprint: 'fp_5cf921caa2' },
  },
  openrouter: {
    id: 'gen-1764791730-nym6GYDkejhRdrWtv8l3',
    answer: { provider: 'Somebody' },
    choice: { native_finish_reason: 'STOP' },
    // What it passes on shows who is behind it.
    usage: { prompt_cache_hit_tokens: 0 },
  },
  together: {
    headers: { 'x-together-traceid': '77' },
    id: '88fa668fac30bb19-MXP',
    answer: { prompt: [] },
    choice: { seed: 1 },
    refuse: ({ messages }) => (messages.some(({ role }) => role === 'developer') ? unexpectedRole() : undefined),
  },
};

/** The templates of Gemma and of others: roles in turn, a system message at the beginning alone. */
export function strictTemplate({ messages }: Chat): Refusal | undefined {
  const roles = messages.map(({ role }) => role);
  if (roles.includes('developer')) return unexpectedRole();
  const isInTurn = roles.every((role, at) => role !== roles[at - 1] && (role !== 'system' || at === 0));
  return isInTurn
    ? undefined
    : [400, { error: { message: 'Conversation roles must alternate user/assistant', code: 400 } }];
}

function unexpectedRole(): Refusal {
  return [400, { error: { message: 'Unexpected message role.', type: 'BadRequestError' } }];
}

/** Of OpenAI's models that reason. */
export function noMaxTokens(chat: Chat): Refusal | undefined {
  if (chat['max_tokens'] === undefined) return undefined;
  const message =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
  return [
    400,
    { error: { message, type: 'invalid_request_error', param: 'max_tokens', code: 'unsupported_parameter' } },
  ];
}

function unknownFields(chat: Chat): Refusal | undefined {
  const field = ['stream_options', 'max_completion_tokens'].find((name) => chat[name] !== undefined);
  if (field === undefined) return undefined;
  return [422, { detail: [{ type: 'extra_forbidden', loc: ['body', field], msg: 'Extra inputs are not permitted' }] }];
}

const MODEL = 'some-model';

/** Plays a backend that behaves so, and can do everything else that the doctor asks for. */
export function play(behaviour: Behaviour): Script {
  return async ({ request, res, start, sse, end }) => {
    const { headers = {} } = behaviour;
    const send = (status: number, body: unknown): void => {
      start(status, { 'content-type': 'application/json', ...headers });
      end(JSON.stringify(body));
    };
    if (request.path === '/v1/models') {
      const isMadeUp = (request.headers.authorization ?? '').startsWith('Bearer probe-');
      if (isMadeUp) send(401, { error: { message: 'Invalid API key' } });
      else send(200, { object: 'list', data: [{ id: MODEL, object: 'model', ...behaviour.model }] });
      return;
    }
    const chat = request.body as Chat;
    const refusal = behaviour.refuse?.(chat);
    if (refusal !== undefined) return send(...refusal);
    const completion = complete(chat, behaviour);
    if (chat['stream'] !== true) return send(200, completion);
    start(200, { 'content-type': 'text/event-stream', ...headers });
    await sse(...toChunks(completion, chat), '[DONE]');
    res.end();
  };
}

function complete(chat: Chat, behaviour: Behaviour): Json {
  const { id = 'cmpl-1', answer, choice, usage, message, ignoredLimit } = behaviour;
  const said = reply(chat, behaviour);
  const tokens = (chat['max_tokens'] ?? chat['max_completion_tokens']) as number;
  const isLimited = ignoredLimit === undefined || chat[ignoredLimit] === undefined;
  const isCut = isLimited && said.tokens > tokens;
  return {
    id,
    object: 'chat.completion',
    created: 1,
    model: chat['model'],
    choices: [
      {
        index: 0,
        message: { role: 'assistant', ...said.message, ...message },
        finish_reason: isCut ? 'length' : said.message.tool_calls ? 'tool_calls' : 'stop',
        ...choice,
      },
    ],
    usage: { prompt_tokens: 9, completion_tokens: isCut ? tokens : said.tokens, total_tokens: 99, ...usage },
    ...answer,
  };
}

function reply(
  chat: Chat,
  { toolChoice }: Behaviour,
): { readonly message: { content: string | null; tool_calls?: unknown }; readonly tokens: number } {
  const prompt = JSON.stringify(chat.messages.at(-1)?.content);
  if (prompt.includes('Count')) return { message: { content: '1 2 3' }, tokens: 100 };
  const choice = toolChoice === 'ignored' ? undefined : chat['tool_choice'];
  const cities = ['Paris', 'Rome'].filter((city) => prompt.includes(city));
  if (chat['tools'] !== undefined && choice !== 'none' && cities.length > 0) {
    const isNamed = toolChoice !== 'words' && typeof choice === 'object';
    const name = isNamed ? (choice as { function: { name: string } }).function.name : 'get_weather';
    const asked = chat['parallel_tool_calls'] === false ? cities.slice(0, 1) : cities;
    const calls = asked.map((city, at) => ({
      id: `call_${at}`,
      type: 'function',
      function: { name, arguments: JSON.stringify({ city }) },
    }));
    return { message: { content: null, tool_calls: calls }, tokens: 10 };
  }
  if (chat['response_format'] !== undefined) return { message: { content: '{"capital_city": "Paris"}' }, tokens: 10 };
  return { message: { content: 'OK' }, tokens: 2 };
}

function toChunks(completion: Json, chat: Chat): Json[] {
  const { choices, usage, ...frame } = completion;
  const [{ message, ...choice }] = choices as [Json];
  const asked = (chat['stream_options'] as Json | undefined)?.['include_usage'] === true;
  return [
    { ...frame, choices: [{ ...choice, delta: message, finish_reason: null }] },
    { ...frame, choices: [{ ...choice, delta: {} }] },
    ...(asked ? [{ ...frame, choices: [], usage }] : []),
  ];
}

/** The questions that came, without those for the models. */
export function chatsOf(requests: readonly ReceivedRequest[]): readonly Chat[] {
  return requests.filter(({ method }) => method === 'POST').map(({ body }) => body as Chat);
}
