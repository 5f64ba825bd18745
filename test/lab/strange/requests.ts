/** What clients do to requests that mean the same, and what a strict backend must not see of others. */

import type { Json } from './answer.ts';
import { isObject } from './answer.ts';

/** A request whose input is a list of items. */
export interface Request extends Json {
  readonly input: Json[];
  readonly tools: Json[];
}

export interface RequestOddity {
  readonly name: string;
  readonly source: string;
  /** `same` is the same chat request, byte for byte; `other` one that is as good. */
  readonly means: 'same' | 'other';
  /** Returns undefined where there is nothing to change. It may change the request that it gets. */
  readonly apply: (request: Request) => Request | undefined;
}

function eachItem(request: Request, change: (item: Json) => boolean): Request | undefined {
  return request.input.map(change).includes(true) ? request : undefined;
}

function withInput(request: Request, input: Json[]): Request {
  return { ...request, input };
}

const isCall = ({ type }: Json): boolean => String(type).endsWith('_call');
const isOutput = ({ type }: Json): boolean => String(type).endsWith('_output');

const GO_ON: Json = { role: 'user', content: 'Go on.' };

const isThought = ({ type }: Json): boolean => type === 'reasoning';

function statuses(): RequestOddity[] {
  return ['completed', 'in_progress', 'incomplete', null, undefined].map((status) => ({
    name: `items with the status ${JSON.stringify(status)}`,
    source: 'langchain-ai/langchainjs#11045',
    means: 'same',
    apply: (request) =>
      eachItem(request, (item) => {
        if (status === undefined) return delete item['status'];
        item['status'] = status;
        return true;
      }),
  }));
}

function ids(): RequestOddity[] {
  return ['', null, undefined, 'x'.repeat(64)].map((id) => ({
    name: `items with the id ${JSON.stringify(id)?.slice(0, 12)}`,
    source: 'anomalyco/opencode#48221',
    means: 'same',
    apply: (request) =>
      eachItem(request, (item) => {
        // The id of a thought says where it came from.
        if (item['type'] === 'reasoning') return false;
        if (id === undefined) return delete item['id'];
        item['id'] = id;
        return true;
      }),
  }));
}

/** Things between the items of a conversation that say nothing to a model. */
const BETWEEN: readonly (readonly [source: string, item: Json])[] = [
  ['a type of tomorrow', { type: 'of_tomorrow', id: 'x_1', anything: [1] }],
  [
    'hosted web search',
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
  ],
  ['thoughts that nobody can read', { type: 'reasoning', id: 'rs_x', summary: [], encrypted_content: 'gAAAAABo' }],
  ['thoughts as a string', { type: 'reasoning', summary: 'Hm.' }],
  ['an empty message', { type: 'message', role: 'assistant', content: [] }],
  ['a list of tools', { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [] }],
];

const ROOTS: readonly (readonly [source: string, parameters: unknown])[] = [
  ['caozhiyuan/copilot-api#131', { type: 'object' }],
  ['farion1231/cc-switch#4783', { type: null, properties: {} }],
  ['openai/codex#36441', { oneOf: [{ type: 'object', properties: {} }], $defs: {} }],
  ['farion1231/cc-switch#5263', {}],
  ['farion1231/cc-switch#5357', { type: 'object', properties: null }],
  ['the standard', null],
  ['spring-projects/spring-ai#4776', undefined],
];

const NAMES: readonly string[] = [
  'a.b',
  'mcp:files/read',
  'with space',
  'größe',
  '日本',
  'x'.repeat(64),
  'y'.repeat(65),
  '-',
  '1st',
];

export const REQUESTS: readonly RequestOddity[] = [
  ...ids(),
  ...statuses(),
  {
    name: 'messages without a type',
    source: 'openai-python: EasyInputMessage',
    means: 'same',
    apply: (request) => eachItem(request, (item) => item['type'] === 'message' && delete item['type']),
  },
  {
    name: 'texts as a list of one part',
    source: 'decolua/9router#846',
    means: 'same',
    apply: (request) =>
      eachItem(request, (item) => {
        if (typeof item['content'] !== 'string') return false;
        const type = item['role'] === 'assistant' ? 'output_text' : 'input_text';
        item['content'] = [{ type, text: item['content'] }];
        return true;
      }),
  },
  {
    name: 'a list of one part as a text',
    source: 'justlovemaki/AIClient2API#592',
    means: 'same',
    apply: (request) =>
      eachItem(request, (item) => {
        const { content } = item;
        const [part, ...others] = Array.isArray(content) ? (content as Json[]) : [];
        if (item['type'] !== 'message' || typeof part?.['text'] !== 'string' || others.length > 0) return false;
        item['content'] = part['text'];
        return true;
      }),
  },
  {
    name: 'outputs of tools as a list of one part',
    source: 'openai/codex: function_call_output',
    means: 'same',
    apply: (request) =>
      eachItem(request, (item) => {
        if (item['type'] !== 'function_call_output' || typeof item['output'] !== 'string') return false;
        item['output'] = [{ type: 'input_text', text: item['output'] }];
        return true;
      }),
  },
  {
    name: 'parts without annotations and with fields of nobody',
    source: 'vllm-project/vllm#41355',
    means: 'same',
    apply: (request) =>
      eachItem(request, (item) => {
        item['created_by'] = 'me';
        const parts = Array.isArray(item['content']) ? (item['content'] as unknown[]).filter(isObject) : [];
        for (const part of parts) {
          delete part['annotations'];
          delete part['logprobs'];
          part['cache_control'] = { type: 'ephemeral' };
        }
        return true;
      }),
  },
  {
    name: 'null for every field that is absent',
    source: 'openai/openai-agents-python#656',
    means: 'same',
    apply: (request) => ({
      ...Object.fromEntries(
        [
          'instructions',
          'temperature',
          'top_p',
          'metadata',
          'reasoning',
          'text',
          'tool_choice',
          'user',
          'truncation',
        ].map((name) => [name, null]),
      ),
      ...request,
    }),
  },
  {
    name: 'null in every field that an item may lack',
    source: 'openai/openai-agents-js#329',
    means: 'same',
    apply: (request) =>
      eachItem(request, (item) => {
        for (const name of ['id', 'status', 'phase', 'created_by']) item[name] ??= null;
        if (isCall(item)) item['namespace'] ??= null;
        if (item['type'] === 'reasoning') for (const name of ['content', 'encrypted_content']) item[name] ??= null;
        return true;
      }),
  },
  {
    name: 'each thought twice',
    source: 'openai/codex#42088',
    means: 'other',
    apply: (request) =>
      request.input.some(isThought)
        ? withInput(
            request,
            request.input.flatMap((item) => (isThought(item) ? [item, structuredClone(item)] : [item])),
          )
        : undefined,
  },
  {
    name: 'thoughts behind what they led to',
    source: 'openai/codex#46193',
    means: 'other',
    apply: (request) =>
      request.input.some(isThought)
        ? withInput(request, [...request.input.filter((item) => !isThought(item)), ...request.input.filter(isThought)])
        : undefined,
  },
  {
    name: 'each call and each output twice',
    source: 'openai/codex#42088',
    means: 'same',
    apply: (request) => {
      if (!request.input.some(isCall)) return undefined;
      return withInput(
        request,
        request.input.flatMap((item) => (isCall(item) || isOutput(item) ? [item, structuredClone(item)] : [item])),
      );
    },
  },
  {
    name: 'outputs before their calls',
    source: 'openai/codex#46193',
    means: 'other',
    apply: (request) => {
      if (!request.input.some(isCall)) return undefined;
      const outputs = request.input.filter(isOutput);
      const first = request.input.findIndex(isCall);
      const rest = request.input.filter((item) => !isOutput(item));
      return withInput(request, [...rest.slice(0, first), ...outputs, ...rest.slice(first), GO_ON]);
    },
  },
  {
    name: 'outputs in another order',
    source: 'BerriAI/litellm PR#32536',
    means: 'same',
    apply: (request) => {
      const outputs = request.input.filter(isOutput);
      if (outputs.length < 2) return undefined;
      const turned = outputs.toReversed();
      return withInput(
        request,
        request.input.map((item) => (isOutput(item) ? (turned.shift() ?? item) : item)),
      );
    },
  },
  ...[[GO_ON], []].map((behind) => ({
    name: `calls without outputs${behind.length > 0 ? '' : ', at the end'}`,
    source: 'openai/codex#8134',
    means: 'other' as const,
    apply: (request: Request) =>
      request.input.some(isOutput)
        ? withInput(request, [...request.input.filter((item) => !isOutput(item)), ...behind])
        : undefined,
  })),
  {
    name: 'a word of the user between a call and its output',
    source: 'livekit/agents PR#1977',
    means: 'other',
    apply: (request) =>
      request.input.some(isCall)
        ? withInput(
            request,
            request.input.flatMap((item) => (isCall(item) ? [item, { role: 'user', content: 'Wait.' }] : [item])),
          )
        : undefined,
  },
  {
    name: 'a word of the developer at the end',
    source: 'earendil-works/pi#812',
    means: 'other',
    apply: (request) =>
      withInput(request, [...request.input, { type: 'message', role: 'developer', content: 'Be brief.' }]),
  },
  ...BETWEEN.map(([source, item]) => ({
    name: `${source} between all items`,
    source,
    means: 'other' as const,
    apply: (request: Request) =>
      withInput(
        request,
        request.input.flatMap((other) => [structuredClone(item), other]),
      ),
  })),
  ...ROOTS.map(([source, parameters], at) => ({
    name: `a tool with the schema ${JSON.stringify(parameters)}`,
    source,
    means: 'other' as const,
    apply: (request: Request) => ({
      ...request,
      tools: [
        ...request.tools,
        { type: 'function', name: `odd_${at}`, ...(parameters !== undefined && { parameters }) },
      ],
    }),
  })),
  ...NAMES.map((name, at) => ({
    name: `a tool named ${name.slice(0, 20)}, and its call`,
    source: 'router-for-me/CLIProxyAPI#4255',
    means: 'other' as const,
    apply: (request: Request): Request => ({
      ...request,
      tools: [...request.tools, { type: 'function', name, parameters: { type: 'object', properties: {} } }],
      input: [
        ...request.input,
        { type: 'function_call', call_id: `call_${at}`, name, arguments: '{}' },
        { type: 'function_call_output', call_id: `call_${at}`, output: 'done' },
      ],
    }),
  })),
  ...['', '{"a":', '[]', 'null', '"x"', '{"a":1}{"a":1}'].map((given, at) => ({
    name: `a call with the arguments ${given === '' ? '""' : given}`,
    source: 'vllm-project/vllm#48922',
    means: 'other' as const,
    apply: (request: Request): Request => ({
      ...request,
      tools: [...request.tools, { type: 'function', name: `odd_with_${at}` }],
      input: [
        ...request.input,
        { type: 'function_call', call_id: `call_with_${at}`, name: `odd_with_${at}`, arguments: given },
        { type: 'function_call_output', call_id: `call_with_${at}`, output: 'failed' },
      ],
    }),
  })),
];
