/** How backends end an answer: well in odd words, or not at all. */

import {
  callsIn,
  choicesIn,
  deltasIn,
  endIn,
  finishReasonIn,
  hasEmptyCall,
  isObject,
  isStream,
  saysMoreThan,
  textOf,
  withoutSaying,
  type Json,
  type SameOddity,
} from './answer.ts';

export const FINISH_REASONS: readonly SameOddity[] = [
  {
    name: 'the finish reason in capitals',
    source: 'ai.google.dev/api/generate-content#FinishReason',
    takes: ['end'],
    apply: (chunks) => withReason(chunks, (reason) => reason.toUpperCase()),
  },
  {
    name: 'the finish reason of an enumeration',
    source: 'BerriAI/litellm#30835',
    takes: ['end'],
    apply: (chunks) => withReason(chunks, (reason) => `FinishReason.${reason.toUpperCase()}`),
  },
  {
    name: 'the finish reason `stop` after calls',
    source: 'recorded of servers with tool parsers of their own',
    takes: ['end'],
    apply: (chunks) => (finishReasonIn(chunks) === 'tool_calls' ? withReason(chunks, () => 'stop') : undefined),
  },
  {
    name: 'the finish reason of Anthropic',
    source: 'docs.anthropic.com/en/api/messages',
    takes: ['end'],
    apply: (chunks) => {
      const words: Record<string, string> = { stop: 'end_turn', tool_calls: 'tool_use', length: 'max_tokens' };
      return withReason(chunks, (reason) => words[reason] ?? reason);
    },
  },
  {
    name: 'a finish reason that nobody knows',
    source: 'no list of reasons is whole',
    takes: ['end'],
    // Arguments that have not begun may be lost.
    apply: (chunks) => (isWell(chunks) && !hasEmptyCall(chunks) ? withReason(chunks, () => 'xyzzy') : undefined),
  },
  {
    name: 'the finish reason twice',
    source: 'BerriAI/litellm#31634',
    takes: ['end'],
    apply: (chunks) => {
      const end = endIn(chunks);
      const chunk = chunks[end];
      if (!isStream(chunks) || chunk === undefined) return undefined;
      const { finish_reason: reason } = choicesIn(chunk)[0] ?? {};
      const again = { ...withoutSaying(chunk), choices: [{ index: 0, delta: {}, finish_reason: reason }] };
      return [...chunks.slice(0, end + 1), again, ...chunks.slice(end + 1)];
    },
  },
  {
    name: 'the finish reason beside the last words',
    source: 'recorded of Mistral and vLLM',
    takes: ['end'],
    apply: (chunks) => {
      const end = endIn(chunks);
      const [last, before] = [choicesIn(chunks[end] ?? {})[0], choicesIn(chunks[end - 1] ?? {})[0]];
      if (!isStream(chunks) || last === undefined || before === undefined) return undefined;
      if (saysMoreThan(last['delta'] as Json, '') || chunks[end]?.['usage'] || last['usage']) return undefined;
      before['finish_reason'] = last['finish_reason'];
      return chunks.filter((_, at) => at !== end);
    },
  },
  ...(
    [
      ['', 'OpenRouter; BerriAI/litellm#31634'],
      ['null', 'help.aliyun.com: DashScope'],
      ['None', 'vercel/ai#2548'],
    ] as const
  ).map(([none, source]) => ({
    name: `"${none}" for no finish reason`,
    source,
    takes: [],
    apply: (chunks: Json[]) => {
      if (!isStream(chunks)) return undefined;
      for (const choice of chunks.flatMap(choicesIn)) choice['finish_reason'] ||= none;
      return chunks;
    },
  })),
  {
    name: 'no finish reason, and [DONE]',
    source: 'openclaw/openclaw#97994',
    takes: ['end'],
    apply: (chunks) => (isStream(chunks) && isWell(chunks) ? withReason(chunks, () => null) : undefined),
  },
];

const ZEROS: Json = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

export const USAGES: readonly SameOddity[] = [
  {
    name: 'the usage in every chunk',
    source: '`continuous_usage_stats` of vLLM',
    takes: ['usage'],
    apply: (chunks) => usageInEach(chunks),
  },
  {
    name: 'the usage under the names of the Responses format',
    source: 'mlx-vlm, earendil-works/pi#2326',
    takes: ['usage'],
    apply: (chunks) => {
      const usages = chunks.map(({ usage }) => usage).filter(isObject);
      for (const usage of usages) {
        usage['input_tokens'] = usage['prompt_tokens'];
        usage['output_tokens'] = usage['completion_tokens'];
        delete usage['prompt_tokens'];
        delete usage['completion_tokens'];
      }
      return usages.length > 0 ? chunks : undefined;
    },
  },
  {
    name: 'calls in another choice, and the usage in every chunk',
    source: 'ericc-ch/copilot-api PR#81',
    takes: ['usage', 'order'],
    apply: (chunks) => {
      const withCalls = chunks.filter((chunk) => deltasIn(chunk).some((delta) => callsIn(delta).length > 0));
      for (const choice of withCalls.flatMap(choicesIn)) choice['index'] = 1;
      const all = withCalls.length > 0 ? usageInEach(chunks) : undefined;
      return all?.filter((chunk) => choicesIn(chunk).length > 0);
    },
  },
  {
    name: 'a usage of zeros before the real one',
    source: 'jeremychone/rust-genai#242',
    takes: ['usage'],
    apply: (chunks) => {
      if (usageOf(chunks) === undefined || !isStream(chunks)) return undefined;
      for (const chunk of chunks) chunk['usage'] ??= ZEROS;
      return chunks;
    },
  },
  ...(
    [
      ['null', null],
      ['zeros', ZEROS],
    ] as const
  ).map(([none, usage]) => ({
    name: `a usage of ${none} after the real one`,
    source: 'cline/cline#12282',
    takes: ['usage'] as const,
    apply: (chunks: Json[]) =>
      usageOf(chunks) !== undefined && isStream(chunks)
        ? [...chunks, { ...chunks.at(-1), choices: [], usage }]
        : undefined,
  })),
  {
    name: 'the usage in the choice',
    source: 'platform.moonshot.ai/docs/api/chat',
    takes: ['usage', 'end'],
    apply: (chunks) => {
      const usage = usageOf(chunks);
      const end = chunks[endIn(chunks)];
      const [choice] = choicesIn(end ?? {});
      if (usage === undefined || choice === undefined || choicesIn(end ?? {}).length > 1) return undefined;
      for (const chunk of chunks) delete chunk['usage'];
      choice['usage'] = usage;
      return chunks;
    },
  },
  {
    name: 'the usage in a chunk of its own, last',
    source: 'platform.openai.com/docs/api-reference/chat/create#stream_options',
    takes: ['usage'],
    apply: (chunks) => {
      const usage = usageOf(chunks);
      if (usage === undefined || !isStream(chunks)) return undefined;
      for (const chunk of chunks) delete chunk['usage'];
      return [...chunks, { object: 'chat.completion.chunk', choices: [], usage }];
    },
  },
  {
    name: 'numbers of the usage as strings',
    source: 'a home-made server in front of a database',
    takes: ['usage'],
    apply: (chunks) => {
      const numbers = chunks.map(({ usage }) => usage).filter(isObject);
      for (const usage of numbers)
        for (const [name, value] of Object.entries(usage)) if (typeof value === 'number') usage[name] = String(value);
      return numbers.length > 0 ? chunks : undefined;
    },
  },
];

/** An error as backends word it, which comes in the place of a chunk. */
const ERRORS: readonly (readonly [source: string, error: Json])[] = [
  ['OpenAI', { error: { message: 'The server had an error', type: 'server_error', param: null, code: null } }],
  ['vLLM 0.6', { object: 'error', message: 'boom', type: 'InternalServerError', param: null, code: 500 }],
  ['llama.cpp', { error: { code: 500, message: 'boom', type: 'server_error' } }],
  ['Ollama', { error: 'an error was encountered while running the model' }],
  [
    'OpenRouter',
    {
      id: 'g',
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
      error: { code: 502, message: 'Provider disconnected' },
    },
  ],
  [
    'OpenRouter, in the choice',
    { id: 'g', choices: [{ index: 0, delta: {}, finish_reason: null, error: { code: 502, message: 'boom' } }] },
  ],
  ['LiteLLM', { error: { message: 'litellm.APIError: boom', type: null, param: null, code: '500' } }],
  ['Gemini', { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }],
  ['FastAPI', { detail: 'Internal Server Error' }],
  ['MiniMax', { id: 'x', choices: null, base_resp: { status_code: 1000, status_msg: 'unknown error' } }],
  ['Zhipu', { error: { code: '1234', message: 'network error' } }],
  ['DashScope', { code: 'InternalError', message: 'boom', request_id: 'x' }],
  ['Spring', { timestamp: '2026-11-28', status: 500, error: 'Internal Server Error', path: '/v1/chat/completions' }],
  ['SGLang', { error: { object: 'error', message: 'boom', type: 'InternalServerError', code: 500 } }],
  ['an envelope', { code: 500, msg: 'boom', data: null }],
  ['NousResearch/hermes-agent#65631', { choices: null, error_type: 'server_error', error_message: 'boom' }],
];

/** Words with which a backend says that it did not come to the end. */
const FAILING = [
  'error',
  'network_error',
  'ABORT',
  'timeout',
  'MALFORMED_FUNCTION_CALL',
  'insufficient_system_resource',
];

export const BROKEN: readonly SameOddity[] = [
  ...ERRORS.flatMap(([source, error]) =>
    (
      [
        ['start', 0],
        ['middle', 0.5],
        ['end', 1],
      ] as const
    ).map(([place, share]) => ({
      name: `the error of ${source} at the ${place}`,
      source,
      takes: ['end'] as const,
      apply: (chunks: Json[]) => {
        const end = endIn(chunks);
        return isStream(chunks) && end > 1 ? [...chunks.slice(0, Math.floor(end * share)), error] : undefined;
      },
    })),
  ),
  ...FAILING.map((reason) => ({
    name: `the finish reason ${reason}`,
    source: 'docs.bigmodel.cn; ai.google.dev; api-docs.deepseek.com',
    takes: ['end'] as const,
    apply: (chunks: Json[]) => withReason(chunks, () => reason),
  })),
  {
    name: 'a finish reason beside network_error of the provider',
    source: 'OpenRouter, OleksandrChekhovskyi/hax PR#15',
    takes: ['end'],
    apply: (chunks) => {
      const choices = chunks.flatMap(choicesIn).filter(({ finish_reason: reason }) => Boolean(reason));
      for (const choice of choices) choice['native_finish_reason'] = 'network_error';
      return choices.length > 0 ? chunks : undefined;
    },
  },
];

function withReason(chunks: Json[], to: (reason: string) => string | null): Json[] | undefined {
  const choices = chunks.flatMap(choicesIn).filter(({ finish_reason: reason }) => Boolean(reason));
  for (const choice of choices) choice['finish_reason'] = to(textOf(choice['finish_reason']));
  return choices.length > 0 ? chunks : undefined;
}

function isWell(chunks: Json[]): boolean {
  return ['stop', 'tool_calls'].includes(finishReasonIn(chunks));
}

function usageInEach(chunks: Json[]): Json[] | undefined {
  const usage = usageOf(chunks);
  if (usage === undefined || !isStream(chunks)) return undefined;
  for (const chunk of chunks) chunk['usage'] = usage;
  return chunks;
}

function usageOf(chunks: Json[]): unknown {
  return chunks.map(({ usage }) => usage).findLast(isObject);
}
